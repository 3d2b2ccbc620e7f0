/* SPDX-License-Identifier: Apache-2.0 */
/* Filters are compiled to tests; here these are run by the code that the kernel side has for it. */
#include "cmocka_all.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/event_test.h"
#include "source/event_filter.h"

/* A record with one field of each kind that numbers and texts have. */
static const char format_text[] = "\tfield:unsigned int flags;\toffset:8;\tsize:4;\tsigned:0;\n"
				  "\tfield:int fd;\toffset:12;\tsize:4;\tsigned:1;\n"
				  "\tfield:unsigned long count;\toffset:16;\tsize:8;\tsigned:0;\n"
				  "\tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:0;\n"
				  "\tfield:u8 bytes[16];\toffset:40;\tsize:16;\tsigned:0;\n";

struct record {
	uint64_t common;
	uint32_t flags;
	int32_t fd;
	uint64_t count;
	char comm[16];
};

static struct event_format format_of_record(void)
{
	struct event_format format;

	assert_int_equal(event_format_parse(format_text, "x", &format, NULL), 0);
	return format;
}

static bool number_passes(const struct fpl_test *test, const struct record *record)
{
	uint64_t have = 0;

	memcpy(&have, (const char *)record + test->field.off, test->field.size);
	if (test->field.kind == FPL_FIELD_SIGNED && test->field.size == 4)
		have = (uint64_t)(int64_t)(int32_t)have;
	return event_compare(test, have);
}

static bool text_passes(const struct fpl_test *test, const struct fpl_source *source,
			const struct record *record)
{
	const char *want = source->texts[test->value];
	char have[FPL_FIELD_TEXT_MAX] = { 0 };
	struct text_match match = { .text = have,
				    .pattern = want,
				    .is_plain = test->op != FPL_TEST_MATCH };

	memcpy(have, (const char *)record + test->field.off, sizeof(record->comm));
	for (unsigned i = 0; i < MATCH_STEPS_MAX && !text_match_step(i, &match); i++)
		;
	/* as others match */
	assert_int_equal(match.is_match, match.is_plain ? strcmp(want, have) == 0
							: fnmatch(want, have, FNM_NOESCAPE) == 0);
	return match.is_match == (test->op != FPL_TEST_NE);
}

/* How the filter ends for the record; each test leads to one behind it. */
static bool passes(const struct fpl_source *source, const struct record *record)
{
	unsigned at = 0;

	while (at != FPL_TEST_PASS && at != FPL_TEST_FAIL) {
		const struct fpl_test *test = &source->tests[at];
		bool is_true = test->field.kind == FPL_FIELD_TEXT
				       ? text_passes(test, source, record)
				       : number_passes(test, record);
		unsigned next = is_true ? test->yes : test->no;

		assert_in_range(at, 0, source->nr_tests - 1);
		assert_true(next > at);
		at = next;
	}
	return at == FPL_TEST_PASS;
}

static void filters_pass_what_they_say(void **state)
{
	static const struct record record = {
		.flags = 0x241, .fd = -100, .count = 4096, .comm = "gcc-12"
	};
	static const struct {
		const char *text;
		bool want;
	} cases[] = {
		{ "flags == 0x241", true },
		{ "flags==577", true },
		{ "flags == 01101", true },
		{ "flags != 0x241", false },
		{ "flags & 0x40", true },
		{ "flags & 2", false },
		{ "flags", true },
		{ "!flags", false },
		{ "fd == -100", true },
		{ "fd < 0", true },
		{ "fd <= -100 && fd >= -100", true },
		{ "fd > -100 || count > 4095", true },
		{ "count >= 4097", false },
		{ "flags == -1", false },
		{ "comm == gcc-12", true },
		{ "comm == \"gcc-12\"", true },
		{ "comm == 'gcc'", false },
		{ "comm != gcc", true },
		{ "comm ~ \"gcc*\"", true },
		{ "comm ~ *12", true },
		{ "comm ~ g?c-*2", true },
		{ "comm ~ gcc", false },
		{ "comm !~ \"*as*\"", true },
		{ "comm == \"gcc*\"", false },
		{ "! ( comm ~ g* && fd < 0 )", false },
		{ "!(comm ~ g*) || !(fd > 0)", true },
		{ "fd > 0 && fd < 0 || count", true },
		{ "fd > 0 && (fd < 0 || count)", false },
		{ "!!count", true },
		{ " ( ( ( count ) ) ) ", true },
	};
	CLEANUP(event_format_fini) struct event_format format = format_of_record();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_source source = { 0 };
		struct fpl_err err = { 0 };

		if (event_filter_compile(cases[i].text, &format, &source, &err))
			fail_msg("%s: %s", cases[i].text, err.msg);
		if (passes(&source, &record) != cases[i].want)
			fail_msg("%s: not %d", cases[i].text, cases[i].want);
	}
}

static void what_is_no_filter_is_refused_where_it_goes_wrong(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "column 1: expected a field" },
		{ "fd ==", "column 6: expected a number" },
		{ "fd == x", "column 7: expected a number" },
		{ "fd == 12x", "column 7: \"12x\": no number of 64 bits" },
		{ "fd == 99999999999999999999",
		  "column 7: \"99999999999999999999\": no number of 64 bits" },
		{ "fdd == 1", "column 1: no field \"fdd\": there are flags, fd, count, comm" },
		{ "bytes == 1", "column 1: bytes is neither a number nor a text: u8" },
		{ "comm", "column 5: comm is a text: expected == != ~ or !~" },
		{ "comm < a", "column 7: comm is a text, which < does not take" },
		{ "fd ~ 1", "column 5: fd is a number, which ~ does not take" },
		{ "comm == \"gcc", "column 9: the text does not end: a \" is missing" },
		{ "comm ~ [ab]", "column 8: ~ takes * and ?, no [" },
		{ "fd == 1 fd", "column 9: expected && or ||, not \"fd\"" },
		{ "(fd == 1", "column 9: expected )" },
		{ "fd && ", "column 7: expected a field" },
		{ "== 1", "column 1: expected a field, not \"== 1\"" },
		{ "comm == ", "column 9: expected a text" },
	};
	CLEANUP(event_format_fini) struct event_format format = format_of_record();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_source source = { .every = 7 };
		struct fpl_err err = { 0 };

		assert_int_equal(event_filter_compile(cases[i].text, &format, &source, &err),
				 -EINVAL);
		assert_string_equal(err.msg, cases[i].want);
		assert_int_equal(source.every, 7);
		assert_int_equal(source.nr_tests, 0);
	}
}

static void filters_have_a_bound(void **state)
{
	CLEANUP(event_format_fini) struct event_format format = format_of_record();
	char text[1024];
	size_t len = 2;
	struct fpl_source source = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	memcpy(text, "fd", 3);
	for (int i = 1; i < (int)FPL_TESTS_MAX; i++, len += 4)
		memcpy(text + len, "||fd", 5);
	assert_int_equal(event_filter_compile(text, &format, &source, &err), 0);
	assert_int_equal(source.nr_tests, FPL_TESTS_MAX);
	memcpy(text + len, "||fd", 5);
	assert_int_equal(event_filter_compile(text, &format, &source, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too long: at most 16 comparisons"));
	memset(text, '!', 100);
	memcpy(text + 100, "fd", 3);
	assert_int_equal(event_filter_compile(text, &format, &source, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "more than 32 levels"));
	memset(text, 'a', 200);
	memcpy(text, "comm == ", 8);
	text[8 + FPL_TEST_TEXT] = '\0';
	assert_int_equal(event_filter_compile(text, &format, &source, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "a text may have 63 bytes"));
}

/* A number below @limit: xorshift32 (Marsaglia 2003). */
static uint32_t below(uint32_t limit)
{
	static uint32_t state = 1;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % limit;
}

/* A random expression, as text, and what it says of @record. */
static bool make(char *text, size_t size, unsigned depth, const struct record *record)
{
	size_t len;
	bool value;
	unsigned choice = below(depth ? 4 : 1);

	if (choice == 0) {
		int32_t number = (int32_t)below(5) - 2;

		if (below(2)) {
			snprintf(text, size, "fd >= %d", number);
			return record->fd >= number;
		}
		snprintf(text, size, "flags & %u", (unsigned)(number & 3));
		return record->flags & (unsigned)(number & 3);
	}
	snprintf(text, size, choice == 1 ? "!(" : "(");
	len = strlen(text);
	value = make(text + len, size - len, depth - 1, record);
	if (choice > 1) {
		bool right;

		len = strlen(text);
		snprintf(text + len, size - len, choice == 2 ? " && " : " || ");
		len = strlen(text);
		right = make(text + len, size - len, depth - 1, record);
		value = choice == 2 ? value && right : value || right;
	}
	len = strlen(text);
	snprintf(text + len, size - len, ")");
	return choice == 1 ? !value : value;
}

static void random_filters_pass_what_they_say(void **state)
{
	CLEANUP(event_format_fini) struct event_format format = format_of_record();

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct record record = { .flags = below(4), .fd = (int32_t)below(5) - 2 };
		struct fpl_source source = { 0 };
		struct fpl_err err = { 0 };
		char text[4096];
		bool want = make(text, sizeof(text), 4, &record);

		if (event_filter_compile(text, &format, &source, &err))
			fail_msg("%s: %s", text, err.msg);
		if (passes(&source, &record) != want)
			fail_msg("%s with flags %u, fd %d: not %d", text, record.flags, record.fd,
				 want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_pass_what_they_say),
		cmocka_unit_test(what_is_no_filter_is_refused_where_it_goes_wrong),
		cmocka_unit_test(filters_have_a_bound),
		cmocka_unit_test(random_filters_pass_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
