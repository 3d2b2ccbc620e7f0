/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/bcc_profile.h"
#include "tests/support/bcc_stacks.h"

static void stacks_are_printed_as_bcc_prints_them(void **state)
{
	static const struct {
		const char *what;
		struct bcc_profile options;
		const char *text;
	} cases[] = {
		{ "text",
		  { .cpu = -1 },
		  "\n"
		  "    -                gone (3)\n        1\n\n"
		  "    [unknown]\n    -                a\\x3b\\x1b b (9)\n        1\n\n"
		  "    [unknown]\n    -                kworker (2)\n        1\n\n"
		  "    vfs_read\n    entry\n    leaf\n    main\n"
		  "    -                cat (8)\n        4\n\n"
		  "    vfs_read\n    entry\n    leaf\n    main\n"
		  "    -                cat (7)\n        5\n\n" },
		{ "text, delimited, annotated",
		  { .cpu = -1, .delimited = true, .annotate = true },
		  "\n"
		  "    -                gone (3)\n        1\n\n"
		  "    [unknown]\n    -                a\\x3b\\x1b b (9)\n        1\n\n"
		  "    [unknown]_[k]\n    -                kworker (2)\n        1\n\n"
		  "    vfs_read_[k]\n    entry_[k]\n    --\n    leaf\n    main\n"
		  "    -                cat (8)\n        4\n\n"
		  "    vfs_read_[k]\n    entry_[k]\n    --\n    leaf\n    main\n"
		  "    -                cat (7)\n        5\n\n" },
		{ "folded",
		  { .cpu = -1, .folded = true },
		  "a\\x3b\\x1b b;[unknown] 1\n"
		  "gone 1\n"
		  "kworker;[unknown] 1\n"
		  "cat;main;leaf;entry;vfs_read 4\n"
		  "cat;main;leaf;entry;vfs_read 5\n" },
		{ "folded, delimited, annotated",
		  { .cpu = -1, .folded = true, .delimited = true, .annotate = true },
		  "a\\x3b\\x1b b;[unknown] 1\n"
		  "gone 1\n"
		  "kworker;[unknown]_[k] 1\n"
		  "cat;main;leaf;-;entry_[k];vfs_read_[k] 4\n"
		  "cat;main;leaf;-;entry_[k];vfs_read_[k] 5\n" },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	bcc_stacks_fill(&recording);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		bcc_profile_write(to, &cases[i].options, &recording);
		assert_int_equal(fclose(to), 0);
		if (strcmp(text, cases[i].text) != 0)
			fail_msg("%s:\n%s", cases[i].what, text);
	}
}

static void head_names_the_sampled_targets(void **state)
{
	static const pid_t pids[] = { 1, 22 };
	static const struct {
		struct bcc_profile options;
		const char *text;
	} cases[] = {
		{ { .hz = 49, .cpu = -1 },
		  "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to "
		  "end.\n" },
		{ { .hz = 99,
		    .cpu = 3,
		    .user_only = true,
		    .pids = pids,
		    .nr_pids = 2,
		    .seconds = 5 },
		  "Sampling at 99 Hertz of PID [1, 22] by user stack on CPU#3 for 5 secs.\n" },
		{ { .period = 1000000, .cpu = 0, .kernel_only = true, .tids = pids, .nr_tids = 1 },
		  "Sampling at every 1000000 events of TID [1] by kernel stack on CPU#0... "
		  "Hit Ctrl-C to end.\n" },
		{ { .hz = 49, .cpu = -1, .folded = true }, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		bcc_profile_head(to, &cases[i].options);
		assert_int_equal(fclose(to), 0);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_printed_as_bcc_prints_them),
		cmocka_unit_test(head_names_the_sampled_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
