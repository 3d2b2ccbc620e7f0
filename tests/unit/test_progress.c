/* SPDX-License-Identifier: Apache-2.0 */
/* The text of progress lines. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/progress.h"
#include "cli/reading_progress.h"

static void a_run_says_how_far_it_is(void **state)
{
	static const struct {
		struct progress_facts facts;
		const char *text;
	} cases[] = {
		{ { .sampled_ns = 3200000000, .samples = 12 }, "3 s  12 samples  lost 0" },
		{ { .sampled_ns = 2000000000, .samples = 12, .event = "page-faults" },
		  "2 s  12 samples of page-faults  lost 0" },
		{ { .sampled_ns = 1000000000,
		    .duration_ms = 2500,
		    .samples = 10,
		    .judged = 8,
		    .complete = 6,
		    .lost = 1 },
		  "1 s of 2.5 s  10 samples  75.0 % complete  lost 1" },
		{ { .sampled_ns = 1000000000,
		    .samples = 10,
		    .nr_tables_made = 41,
		    .nr_tables = 127 },
		  "1 s  10 samples  lost 0  tables: 41 of 127 files" },
		{ { .sampled_ns = 1000000000,
		    .samples = 10,
		    .nr_tables_made = 127,
		    .nr_tables = 127 },
		  "1 s  10 samples  lost 0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];

		progress_text(&cases[i].facts, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void reading_says_which_file_and_how_much_of_it(void **state)
{
	static const struct {
		const char *what;
		struct reading_facts facts;
		const char *text;
	} cases[] = {
		{ "a pipe",
		  { .name = "stdin", .nr = 1, .bytes = 3 << 19 },
		  "reading stdin: 1.5 MiB" },
		{ "a file",
		  { .name = "a.jsonl", .nr = 1, .bytes = 1 << 20, .size_bytes = 4 << 20 },
		  "reading a.jsonl: 25 % of 4.0 MiB" },
		{ "one of several",
		  { .name = "a", .idx = 1, .nr = 3, .bytes = 1, .size_bytes = 1 << 20 },
		  "reading 2 of 3, a: 0 % of 1.0 MiB" },
		{ "to its end",
		  { .name = "a", .nr = 1, .bytes = 1 << 20, .size_bytes = 1 << 20 },
		  "reading a: 100 % of 1.0 MiB" },
		{ "once more",
		  { .name = "a", .nr = 1, .bytes = 5 << 18, .size_bytes = 1 << 20 },
		  "reading a again: 25 % of 1.0 MiB" },
		{ "a third time, to its end",
		  { .name = "a", .nr = 1, .bytes = 3 << 20, .size_bytes = 1 << 20 },
		  "reading a again: 100 % of 1.0 MiB" },
		{ "a name of somebody else",
		  { .name = "\033[31mred", .nr = 1 },
		  "reading \\x1b[31mred: 0.0 MiB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];

		reading_progress_text(&cases[i].facts, text, sizeof(text));
		if (strcmp(text, cases[i].text) != 0)
			fail_msg("%s: %s", cases[i].what, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_says_how_far_it_is),
		cmocka_unit_test(reading_says_which_file_and_how_much_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
