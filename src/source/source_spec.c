/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source_spec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/similar.h"
#include "source/probe_word.h"

#define SOFTWARE(name, alias, config, is_kernel, what)                                    \
	{                                                                                 \
		name, alias, what, SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE, config, is_kernel \
	}
#define HARDWARE(name, alias, config, what)                                           \
	{                                                                             \
		name, alias, what, SOURCE_HARDWARE, PERF_TYPE_HARDWARE, config, false \
	}

const struct source_word source_words[] = {
	{ "cpu-cycles", NULL, "cycles of a CPU that is not halted, by its counter", SOURCE_CLOCK,
	  PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false },
	{ "cpu-clock", NULL, "time of a CPU, by a timer of the kernel", SOURCE_CLOCK,
	  PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false },
	SOFTWARE("page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, false,
		 "accesses to memory that the kernel has to map first"),
	SOFTWARE("minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, false,
		 "page faults without reading from a disk"),
	SOFTWARE("major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false,
		 "page faults that read from a disk"),
	SOFTWARE("context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, true,
		 "a task leaves its CPU"),
	SOFTWARE("cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, true,
		 "a task goes on on another CPU"),
	HARDWARE("instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, "instructions that were run"),
	HARDWARE("cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES,
		 "accesses to the last cache"),
	HARDWARE("cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES,
		 "accesses that the last cache could not answer"),
	HARDWARE("branches", "branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		 "branches that were run"),
	HARDWARE("branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES,
		 "branches that were predicted wrongly"),
	HARDWARE("bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, "cycles of the bus"),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend",
		 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles without an instruction to run"),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend",
		 PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles that wait for data or a unit"),
	HARDWARE("ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES,
		 "cycles at the same speed, whatever the CPU's frequency"),
};

/* cpu-cycles, or cpu-clock where there is no PMU. */
#define CYCLES "cycles"

const size_t source_words_nr = ARRAY_SIZE(source_words);

/* Events of perf and bpftrace that fpless does not sample. */
static const struct {
	const char *prefix, *why;
} others[] = {
	/* it may interrupt the code that stores the user's registers */
	{ "nmi:", "registers may be half stored there" },
	{ "ftrace:", "it calls no program" },
};

struct source_spec source_spec_blocked(void)
{
	return (struct source_spec){ .name = "blocked", .class = SOURCE_BLOCKED };
}

struct source_spec source_spec_waker(void)
{
	return (struct source_spec){ .name = "wakeups", .class = SOURCE_WAKER };
}

struct source_spec source_spec_of(const struct source_word *word)
{
	struct source_spec spec = {
		.class = word->class,
		.perf_type = word->perf_type,
		.perf_config = word->perf_config,
	};

	snprintf(spec.name, sizeof(spec.name), "%s", word->name);
	return spec;
}

struct source_spec source_spec_cpu_clock(void)
{
	return source_spec_of(&source_words[1]);
}

struct source_spec source_spec_default(void)
{
	struct source_spec spec = source_spec_of(&source_words[0]);

	spec.or_clock = true;
	return spec;
}

struct source_spec source_spec_page_faults(void)
{
	return source_spec_of(&source_words[2]);
}

struct source_spec source_spec_rss(void)
{
	return (struct source_spec){
		.name = "rss",
		.class = SOURCE_RSS,
		.perf_type = PERF_TYPE_TRACEPOINT,
		.period = 1,
	};
}

struct source_spec source_spec_heap(uint64_t stride)
{
	return (struct source_spec){
		.name = "allocations",
		.class = SOURCE_HEAP,
		.perf_type = PERF_TYPE_MAX, /* the kernel chose its number */
		.period = stride,
	};
}

static bool is_name(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && !strncmp(name, word, len);
}

static const struct source_word *find(const char *word, size_t len)
{
	for (size_t i = 0; i < source_words_nr; i++)
		if (is_name(source_words[i].name, word, len) ||
		    is_name(source_words[i].alias, word, len))
			return &source_words[i];
	return NULL;
}

/* rNNN: the number that the CPU's manual gives an event. */
static bool parse_raw(const char *word, size_t len, struct source_spec *ret)
{
	struct source_spec spec = { .class = SOURCE_HARDWARE, .perf_type = PERF_TYPE_RAW };
	size_t digits = *word == 'r' ? strspn(word + 1, "0123456789abcdefABCDEF") : 0;

	if (!digits || digits != len - 1 || digits > 16)
		return false;
	spec.perf_config = strtoull(word + 1, NULL, 16);
	snprintf(spec.name, sizeof(spec.name), "%.*s", (int)len, word);
	*ret = spec;
	return true;
}

/* Why the event is not sampled, though other tools do it; NULL: no such reason is known. */
static const char *why_not(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strncmp(word, others[i].prefix, strlen(others[i].prefix)))
			return others[i].why;
	return NULL;
}

/* Has @text nothing but modifiers of perf's? */
static bool is_modifiers(const char *text)
{
	return !text[strspn(text, "ukhGHpPSDIWe")];
}

static bool is_tracepoint_word(const char *word, size_t len)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return len && strspn(word, allowed) >= len;
}

/* CATEGORY:NAME. perf's modifiers alone are no name. */
static bool parse_tracepoint(const char *word, size_t len, struct source_spec *ret)
{
	const char *name = word[len] ? word + len + 1 : "";
	size_t name_len = strlen(name);
	struct source_spec spec = { .class = SOURCE_TRACEPOINT, .perf_type = PERF_TYPE_TRACEPOINT };

	if (why_not(word) || !is_tracepoint_word(word, len) ||
	    !is_tracepoint_word(name, name_len) || is_modifiers(name) ||
	    len + 1 + name_len >= sizeof(spec.name))
		return false;
	memcpy(spec.name, word, len + 1 + name_len);
	*ret = spec;
	return true;
}

static int parse_probe(const char *word, struct source_spec *ret, struct fpl_err *err)
{
	struct source_spec spec = { .class = SOURCE_PROBE,
				    .perf_type = PERF_TYPE_MAX, /* the kernel chose its number */
				    .probe = word };
	struct probe_word probe;
	int code = probe_word_parse(word, &probe, err);

	if (code)
		return code;
	probe_word_name(word, spec.name, sizeof(spec.name));
	*ret = spec;
	return 0;
}

/* @modifiers: what stands behind the colon. */
static int parse_modifiers(const char *word, const char *modifiers, struct source_spec *spec,
			   struct fpl_err *err)
{
	bool user = strchr(modifiers, 'u'), kernel = strchr(modifiers, 'k');

	if (strpbrk(modifiers, "pP"))
		return fpl_fail(err, -EINVAL,
				"%s: precise events are not sampled: their pc is of another "
				"moment than the registers that stacks are walked by: use -e %.*s",
				word, (int)strcspn(word, ":"), word);
	if (!*modifiers || modifiers[strspn(modifiers, "uk")])
		return fpl_fail(err, -EINVAL, "%s: expected u or k behind the colon", word);
	spec->exclude_user = !user;
	spec->exclude_kernel = !kernel;
	spec->exclude_hv = true;
	return 0;
}

static int parse_breakpoint(const char *word, struct source_spec *ret, struct fpl_err *err)
{
	struct source_spec spec = { .class = SOURCE_SOFTWARE, .perf_type = PERF_TYPE_BREAKPOINT };
	const char *rest;
	int code = breakpoint_word_parse(word, &spec.breakpoint, &rest, err);

	if (!code && rest - word >= SOURCE_NAME_MAX)
		return fpl_fail(err, -EINVAL, "%s: the word is too long", word);
	if (!code)
		snprintf(spec.name, sizeof(spec.name), "%.*s", (int)(rest - word), word);
	if (!code && *rest)
		code = parse_modifiers(word, rest + 1, &spec, err);
	if (!code)
		*ret = spec;
	return code;
}

/* The name that is meant by @word, most likely; NULL: none is like it. */
static const char *nearest(const char *word, size_t len)
{
	char typed[SIMILAR_MAX + 1];
	const char *found = NULL;
	size_t best = len / 3 + 2; /* from here on they are not alike */

	if (len > SIMILAR_MAX)
		return NULL;
	snprintf(typed, sizeof(typed), "%.*s", (int)len, word);
	/* the last is beside the list */
	for (size_t i = 0; i <= source_words_nr; i++) {
		const char *name = i < source_words_nr ? source_words[i].name : CYCLES;
		size_t distance = similar_distance(typed, name);

		if (distance < best) {
			best = distance;
			found = name;
		}
	}
	return found;
}

static int refuse(const char *word, size_t len, struct fpl_err *err)
{
	const char *meant = nearest(word, len);

	if (why_not(word))
		return fpl_fail(err, -EINVAL, "%s: %s: fpless events names what is", word,
				why_not(word));
	if (strchr(word, ','))
		return fpl_fail(err, -EINVAL, "%s: one event a run", word);
	if (word[len] && !is_modifiers(word + len + 1))
		return fpl_fail(err, -EINVAL, "%s: no name of a tracepoint", word);
	if (meant)
		return fpl_fail(err, -EINVAL, "%s: no such event: did you mean %s?", word, meant);
	return fpl_fail(err, -EINVAL, "%s: no such event: fpless events names all", word);
}

int source_spec_parse(const char *word, struct source_spec *ret, struct fpl_err *err)
{
	size_t len = strcspn(word, ":");
	const struct source_word *known = find(word, len);
	struct source_spec spec = { 0 };
	int code = 0;

	if (probe_word_is(word))
		return parse_probe(word, ret, err);
	if (breakpoint_word_is(word))
		return parse_breakpoint(word, ret, err);
	if (known)
		spec = source_spec_of(known);
	else if (is_name(CYCLES, word, len))
		spec = source_spec_default();
	else if (parse_tracepoint(word, len, &spec))
		len += strlen(word + len);
	else if (!parse_raw(word, len, &spec))
		return refuse(word, len, err);
	if (word[len])
		code = parse_modifiers(word, word + len + 1, &spec, err);
	if (!code && known && known->is_kernel && spec.exclude_kernel)
		code = fpl_fail(err, -EINVAL, "%s: %s happen in the kernel only", word,
				known->name);
	if (!code)
		*ret = spec;
	return code;
}
