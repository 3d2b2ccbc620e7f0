/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/bcc_stackcount.h"
#include "tests/support/bcc_stacks.h"

static void assert_written(const struct recording *recording, const char *what,
			   const struct bcc_output *options, const char *time, const char *wanted)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	bcc_stackcount_write(to, options, time, recording);
	assert_int_equal(fclose(to), 0);
	if (strcmp(text, wanted) != 0)
		fail_msg("%s:\n%s", what, text);
}

static void stacks_are_printed_as_bcc_prints_them(void **state)
{
	static const struct {
		const char *what;
		struct bcc_output options;
		const char *time, *text;
	} cases[] = {
		{ "text",
		  { 0 },
		  NULL,
		  "\n"
		  "    gone [3]\n    1\n\n"
		  "  [unknown]\n    a\\x3b\\x1b b [9]\n    1\n\n"
		  "  [unknown]\n    kworker [2]\n    1\n\n"
		  "  vfs_read\n  entry\n  leaf\n  main\n    cat [8]\n    4\n\n"
		  "  vfs_read\n  entry\n  leaf\n  main\n    cat [7]\n    5\n\n"
		  "Detaching...\n" },
		{ "one process, delimited, with the time",
		  { .one_process = true, .delimited = true },
		  "12:34:56",
		  "\n12:34:56\n"
		  "    --\n    1\n\n"
		  "    --\n  [unknown]\n    1\n\n"
		  "  [unknown]\n    --\n    1\n\n"
		  "  vfs_read\n  entry\n    --\n  leaf\n  main\n    4\n\n"
		  "  vfs_read\n  entry\n    --\n  leaf\n  main\n    5\n\n"
		  "Detaching...\n" },
		{ "folded",
		  { .folded = true },
		  NULL,
		  "a\\x3b\\x1b b;[unknown] 1\n"
		  "gone 1\n"
		  "kworker;[unknown] 1\n"
		  "cat;main;leaf;entry;vfs_read 4\n"
		  "cat;main;leaf;entry;vfs_read 5\n" },
		{ "folded, delimited",
		  { .folded = true, .delimited = true },
		  NULL,
		  "a\\x3b\\x1b b;[unknown];- 1\n"
		  "gone;- 1\n"
		  "kworker;-;[unknown] 1\n"
		  "cat;main;leaf;-;entry;vfs_read 4\n"
		  "cat;main;leaf;-;entry;vfs_read 5\n" },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	bcc_stacks_fill(&recording);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, cases[i].what, &cases[i].options, cases[i].time,
			       cases[i].text);
}

static void stacks_of_the_kernel_alone_are_one_of_all_processes(void **state)
{
	static const struct {
		const char *what;
		struct bcc_output options;
		const char *text;
	} cases[] = {
		{ "all are one",
		  { .kernel_only = true, .delimited = true },
		  "\n  vfs_read\n  entry\n    7\n\nDetaching...\n" },
		{ "folded", { .kernel_only = true, .folded = true }, "entry;vfs_read 7\n" },
		{ "told apart",
		  { .kernel_only = true, .per_process = true },
		  "\n  vfs_read\n  entry\n    cat [8]\n    3\n\n"
		  "  vfs_read\n  entry\n    cat [7]\n    4\n\nDetaching...\n" },
		{ "told apart, folded",
		  { .kernel_only = true, .per_process = true, .folded = true },
		  "cat;entry;vfs_read 3\ncat;entry;vfs_read 4\n" },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	assert_int_equal(recording_init(&recording), 0);

	const uint32_t frames[] = {
		bcc_stacks_frame(&recording, "vfs_read", 0x1000, RECORDING_KERNEL),
		bcc_stacks_frame(&recording, "entry", 0x2000, RECORDING_KERNEL),
	};

	bcc_stacks_add(&recording, "cat", 7, 4, frames, 0, 2);
	bcc_stacks_add(&recording, "cat", 8, 3, frames, 0, 2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, cases[i].what, &cases[i].options, NULL, cases[i].text);
}

static void head_names_the_pattern(void **state)
{
	static const struct {
		struct bcc_output options;
		const char *text;
	} cases[] = {
		{ { .pattern = "c:malloc" },
		  "Tracing 1 functions for \"c:malloc\"... Hit Ctrl-C to end.\n" },
		{ { .pattern = "c:\x1b" },
		  "Tracing 1 functions for \"c:\\x1b\"... Hit Ctrl-C to end.\n" },
		{ { .pattern = "c:malloc", .folded = true }, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		bcc_stackcount_head(to, &cases[i].options);
		assert_int_equal(fclose(to), 0);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_printed_as_bcc_prints_them),
		cmocka_unit_test(stacks_of_the_kernel_alone_are_one_of_all_processes),
		cmocka_unit_test(head_names_the_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
