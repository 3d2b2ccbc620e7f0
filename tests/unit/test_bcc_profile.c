/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/bcc_profile.h"

static uint32_t add_frame(struct recording *recording, const char *name, uint64_t address,
			  enum recording_kind kind)
{
	struct recording_function function = { 0 };
	struct recording_line line = { 0 };
	struct recording_frame frame = {
		.address = address,
		.start = RECORDING_NO_ADDRESS,
		.kind = (uint8_t)kind,
		.nr_lines = name ? 1 : 0,
	};
	uint32_t ret;

	if (name) {
		assert_int_equal(recording_add_text(recording, name, &function.name), 0);
		assert_int_equal(recording_add_function(recording, &function, &line.function), 0);
	}
	assert_int_equal(recording_add_frame(recording, &frame, &line, &ret), 0);
	return ret;
}

static void add_stack(struct recording *recording, const char *comm, uint32_t pid, uint64_t count,
		      const uint32_t *frames, uint16_t nr_user, uint16_t nr_kernel)
{
	struct recording_stack stack = {
		.count = count,
		.nr_user = nr_user,
		.nr_kernel = nr_kernel,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID,
		.pid = pid,
	};

	assert_int_equal(recording_add_text(recording, comm, &stack.comm), 0);
	assert_int_equal(recording_add_stack(recording, &stack, frames, NULL), 0);
}

static void fill(struct recording *recording)
{
	assert_int_equal(recording_init(recording), 0);

	const uint32_t leaf = add_frame(recording, "leaf", 0x10, RECORDING_USER);
	const uint32_t leaf2 = add_frame(recording, "leaf", 0x14, RECORDING_USER);
	const uint32_t main_frame = add_frame(recording, "main", 0x20, RECORDING_USER);
	const uint32_t unknown = add_frame(recording, NULL, 0x30, RECORDING_USER);
	const uint32_t read = add_frame(recording, "vfs_read", 0x1000, RECORDING_KERNEL);
	const uint32_t entry = add_frame(recording, "entry", 0x2000, RECORDING_KERNEL);
	const uint32_t nameless = add_frame(recording, NULL, 0x3000, RECORDING_KERNEL);

	add_stack(recording, "cat", 7, 3, (uint32_t[]){ leaf, main_frame, read, entry }, 2, 2);
	add_stack(recording, "cat", 7, 2, (uint32_t[]){ leaf2, main_frame, read, entry }, 2, 2);
	add_stack(recording, "cat", 8, 4, (uint32_t[]){ leaf2, main_frame, read, entry }, 2, 2);
	add_stack(recording, "a;\x1b b", 9, 1, (uint32_t[]){ unknown }, 1, 0);
	add_stack(recording, "kworker", 2, 1, (uint32_t[]){ nameless }, 0, 1);
	add_stack(recording, "gone", 3, 1, NULL, 0, 0);
}

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
	fill(&recording);
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
