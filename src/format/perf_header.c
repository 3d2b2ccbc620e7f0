/* SPDX-License-Identifier: Apache-2.0 */
#include "format/perf_header.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* A word of a line, between blanks. */
struct word {
	char *begin, *end;
};

/* The first word from @at on; empty at the end. */
static struct word word_at(char *at)
{
	struct word word = { .begin = at + strspn(at, " \t") };

	word.end = word.begin + strcspn(word.begin, " \t");
	return word;
}

static bool digits_to(const char *begin, const char *end, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (begin == end)
		return false;
	for (; begin < end; begin++)
		if (!isdigit((unsigned char)*begin) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*begin - '0'), &value))
			return false;
	*ret = value;
	return value <= max;
}

/* "TID" or "PID/TID". perf writes -1 where it does not know. */
static bool parse_task(struct word word, struct perf_header *ret)
{
	char *slash = memchr(word.begin, '/', (size_t)(word.end - word.begin));
	uint64_t first, second;

	if (!slash) {
		if (!digits_to(word.begin, word.end, INT32_MAX, &first))
			return false;
		ret->tid = (uint32_t)first;
		ret->has_pid = false;
		ret->has_tid = true;
		return true;
	}
	if (!digits_to(word.begin, slash, INT32_MAX, &first) ||
	    !digits_to(slash + 1, word.end, INT32_MAX, &second))
		return false;
	ret->pid = (uint32_t)first;
	ret->tid = (uint32_t)second;
	ret->has_pid = ret->has_tid = true;
	return true;
}

/* "[003]" */
static bool parse_cpu(struct word word, struct perf_header *ret)
{
	uint64_t cpu;

	if (word.end - word.begin < 3 || *word.begin != '[' || word.end[-1] != ']' ||
	    !digits_to(word.begin + 1, word.end - 1, INT32_MAX, &cpu))
		return false;
	ret->cpu = (uint32_t)cpu;
	return true;
}

/* "12345.678901:", with 6 or 9 digits behind the dot. */
static bool parse_time(struct word word, struct perf_header *ret)
{
	char *dot = memchr(word.begin, '.', (size_t)(word.end - word.begin));
	uint64_t seconds, fraction;

	if (!dot || word.end[-1] != ':' ||
	    !digits_to(word.begin, dot, UINT64_MAX / 1000000000 - 1, &seconds) ||
	    word.end - 1 - dot > 10 || !digits_to(dot + 1, word.end - 1, UINT64_MAX, &fraction))
		return false;
	for (long digits = word.end - 2 - dot; digits < 9; digits++)
		fraction *= 10;
	ret->time_ns = seconds * 1000000000 + fraction;
	return true;
}

/* "cycles:u:", and what is behind it. */
static bool parse_event(char *at, struct perf_header *ret)
{
	struct word word = word_at(at);
	uint64_t period;

	ret->has_period = digits_to(word.begin, word.end, UINT64_MAX, &period);
	if (ret->has_period) {
		ret->period = period;
		word = word_at(word.end);
	}
	if (word.begin == word.end || word.end[-1] != ':')
		return false;
	ret->event = word.begin;
	ret->rest = *word.end ? word.end + 1 : word.end;
	word.end[-1] = '\0';
	return true;
}

/* Parse the rest of the line behind the word of the task: CPU, time, period and event. */
static bool parse_behind_task(char *at, struct perf_header *ret)
{
	struct word word = word_at(at);

	ret->has_cpu = parse_cpu(word, ret);
	if (ret->has_cpu)
		word = word_at(word.end);
	ret->has_time = word.begin < word.end && parse_time(word, ret);
	if (ret->has_time)
		word = word_at(word.end);
	ret->event = ret->rest = "";
	ret->has_period = false;
	if (parse_event(word.begin, ret))
		return true;
	/* -F without the event ends with what was printed */
	return word.begin == word.end && (ret->has_time || ret->has_cpu);
}

bool perf_header_parse(char *line, struct perf_header *ret)
{
	struct word comm = word_at(line), word;

	if (comm.begin == comm.end)
		return false;
	/* the name of a task may hold what looks like one: the first that fits is right */
	for (word = word_at(comm.end); word.begin < word.end; word = word_at(word.end)) {
		char *end = word.begin;

		*ret = (struct perf_header){ .comm = comm.begin };
		if (!parse_task(word, ret) || !parse_behind_task(word.end, ret))
			continue;
		while (end[-1] == ' ' || end[-1] == '\t')
			end--;
		*end = '\0';
		return true;
	}
	return false;
}
