/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/bcc_stackcount.h"

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

static void assert_written(const struct recording *recording, const char *what,
			   const struct bcc_stackcount *options, const char *time,
			   const char *wanted)
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
		struct bcc_stackcount options;
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
	fill(&recording);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, cases[i].what, &cases[i].options, cases[i].time,
			       cases[i].text);
}

static void stacks_of_the_kernel_alone_are_one_of_all_processes(void **state)
{
	static const struct {
		const char *what;
		struct bcc_stackcount options;
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
		add_frame(&recording, "vfs_read", 0x1000, RECORDING_KERNEL),
		add_frame(&recording, "entry", 0x2000, RECORDING_KERNEL),
	};

	add_stack(&recording, "cat", 7, 4, frames, 0, 2);
	add_stack(&recording, "cat", 8, 3, frames, 0, 2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, cases[i].what, &cases[i].options, NULL, cases[i].text);
}

static void head_names_the_pattern(void **state)
{
	static const struct {
		struct bcc_stackcount options;
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
