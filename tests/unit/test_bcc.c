/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "format/bcc.h"
#include "tests/support/bcc_stacks.h"

static void assert_written(const struct recording *recording, const struct bcc_output *options,
			   const char *wanted)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	bcc_write(to, options, recording);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, wanted);
}

static void stacks_are_printed_as_bcc_prints_them(void **state)
{
	static const struct {
		const char *what;
		struct bcc_output options;
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
		print_message("%s\n", cases[i].what);
		assert_written(&recording, &cases[i].options, cases[i].text);
	}
}

static void add_wait(struct recording *recording, const char *comm, uint32_t pid, uint32_t tid,
		     uint64_t ns, const uint32_t *frames, uint16_t nr_user, uint16_t nr_kernel)
{
	struct recording_stack stack = {
		.count = 1,
		.weight = ns,
		.nr_user = nr_user,
		.nr_kernel = nr_kernel,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID | RECORDING_HAS_TID,
		.no_user = !nr_user,
		.pid = pid,
		.tid = tid,
	};

	assert_int_equal(recording_add_text(recording, comm, &stack.comm), 0);
	assert_int_equal(recording_add_stack(recording, &stack, frames, NULL), 0);
}

/* Two waits of one thread that read the same, one of another thread, one of less than 1 us, and one
 * of a kernel thread. */
static void fill_waits(struct recording *recording)
{
	assert_int_equal(recording_init(recording), 0);
	assert_int_equal(recording_add_text(recording, "blocked", &recording->weight_type), 0);
	assert_int_equal(recording_add_text(recording, "nanoseconds", &recording->weight_unit), 0);

	const uint32_t read = bcc_stacks_frame(recording, "read", 0x10, RECORDING_USER);
	const uint32_t read2 = bcc_stacks_frame(recording, "read", 0x14, RECORDING_USER);
	const uint32_t kernel = bcc_stacks_frame(recording, "schedule", 0x1000, RECORDING_KERNEL);

	add_wait(recording, "cat", 7, 71, 1700, (uint32_t[]){ read, kernel }, 1, 1);
	add_wait(recording, "cat", 7, 71, 400, (uint32_t[]){ read2, kernel }, 1, 1);
	add_wait(recording, "cat", 7, 72, 5000000, (uint32_t[]){ read, kernel }, 1, 1);
	add_wait(recording, "sh", 9, 9, 999, (uint32_t[]){ read }, 1, 0);
	add_wait(recording, "kworker", 2, 2, 1000, (uint32_t[]){ kernel }, 0, 1);
}

static void waits_are_microseconds_by_thread(void **state)
{
	static const struct {
		struct bcc_output options;
		const char *text;
	} cases[] = {
		{ { .tool = BCC_OFFCPUTIME, .delimited = true },
		  "\n"
		  "    schedule\n    -                kworker (2)\n        1\n\n"
		  "    schedule\n    --\n    read\n    -                cat (71)\n        2\n\n"
		  "    schedule\n    --\n    read\n    -                cat (72)\n        5000\n\n" },
		{ { .tool = BCC_OFFCPUTIME,
		    .folded = true,
		    .delimited = true,
		    .user_threads = true },
		  "cat;read;-;schedule 2\n"
		  "cat;read;-;schedule 5000\n" },
		{ { .tool = BCC_OFFCPUTIME, .folded = true, .kernel_threads = true },
		  "kworker;schedule 1\n" },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	fill_waits(&recording);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, &cases[i].options, cases[i].text);
}

static void add_wakeup(struct recording *recording, const char *waker, uint32_t pid,
		       const char *wakee, uint64_t ns, const uint32_t *frames, uint16_t nr_kernel)
{
	struct recording_stack stack = {
		.count = 1,
		.weight = ns,
		.nr_kernel = nr_kernel,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID | RECORDING_HAS_KEY,
		.pid = pid,
	};

	assert_int_equal(recording_add_text(recording, waker, &stack.comm), 0);
	assert_int_equal(recording_add_text(recording, wakee, &stack.key), 0);
	assert_int_equal(recording_add_stack(recording, &stack, frames, NULL), 0);
}

/* By two processes of one name, at two places of one function; by an interrupt; one of less than
 * 1 us; and hostile names. */
static void fill_wakeups(struct recording *recording)
{
	assert_int_equal(recording_init(recording), 0);
	assert_int_equal(recording_add_text(recording, "blocked", &recording->weight_type), 0);
	assert_int_equal(recording_add_text(recording, "nanoseconds", &recording->weight_unit), 0);
	assert_int_equal(recording_add_text(recording, "wakee", &recording->key), 0);

	const uint32_t wake = bcc_stacks_frame(recording, "wake", 0x1000, RECORDING_KERNEL);
	const uint32_t wake2 = bcc_stacks_frame(recording, "wake", 0x1004, RECORDING_KERNEL);
	const uint32_t entry = bcc_stacks_frame(recording, "entry", UINT64_C(0xffffffff81000130),
						RECORDING_KERNEL);

	add_wakeup(recording, "cat", 7, "sort", 1700, (uint32_t[]){ wake, entry }, 2);
	add_wakeup(recording, "cat", 8, "sort", 400, (uint32_t[]){ wake, entry }, 2);
	add_wakeup(recording, "cat", 8, "sort", 5000, (uint32_t[]){ wake2, entry }, 2);
	add_wakeup(recording, "cat", 8, "wc", 999, (uint32_t[]){ wake2, entry }, 2);
	add_wakeup(recording, "[irq]", 0, "sort", 1000, NULL, 0);
	add_wakeup(recording, "a;\x1b b", 9, "c;\x1b d", 9000000, NULL, 0);
}

static void wakeups_name_both_threads(void **state)
{
	static const struct {
		struct bcc_output options;
		const char *text;
	} cases[] = {
		{ { .tool = BCC_WAKEUPTIME, .kernel_only = true },
		  "\n"
		  "    target:          sort\n"
		  "    waker:           [irq]\n        1\n\n"
		  "    target:          sort\n"
		  "    1000             wake\n"
		  "    ffffffff81000130 entry\n"
		  "    waker:           cat\n        2\n\n"
		  "    target:          sort\n"
		  "    1004             wake\n"
		  "    ffffffff81000130 entry\n"
		  "    waker:           cat\n        5\n\n"
		  "    target:          c\\x3b\\x1b d\n"
		  "    waker:           a\\x3b\\x1b b\n        9000\n\n"
		  "Detaching...\n" },
		{ { .tool = BCC_WAKEUPTIME, .folded = true, .kernel_only = true },
		  "[irq];sort 1\n"
		  "cat;entry;wake;sort 7\n"
		  "a\\x3b\\x1b b;c\\x3b\\x1b d 9000\n" },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	fill_wakeups(&recording);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, &cases[i].options, cases[i].text);
}

/* A frame that has a name and nothing else. */
static uint32_t add_word(struct recording *recording, const char *word)
{
	return bcc_stacks_frame(recording, word, RECORDING_NO_ADDRESS, RECORDING_USER);
}

static uint32_t add_code(struct recording *recording, const char *name, const char *path,
			 enum recording_kind kind)
{
	struct recording_object object = { 0 };
	struct recording_frame frame;
	uint32_t ret = bcc_stacks_frame(recording, name, 0x10, kind);

	frame = recording->frames[ret];
	assert_int_equal(recording_add_text(recording, path, &object.path), 0);
	assert_int_equal(recording_add_object(recording, &object, &frame.object), 0);
	assert_int_equal(
		recording_add_frame(recording, &frame, &recording->lines[frame.first_line], &ret),
		0);
	return ret;
}

static void add_pair(struct recording *recording, uint32_t tid, uint64_t ns, const uint32_t *frames,
		     uint16_t nr_user, uint16_t nr_kernel)
{
	struct recording_stack stack = {
		.count = 1,
		.weight = ns,
		.nr_user = nr_user,
		.nr_kernel = nr_kernel,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID | RECORDING_HAS_TID,
		.pid = 7,
		.tid = tid,
	};

	assert_int_equal(recording_add_text(recording, "cat", &stack.comm), 0);
	assert_int_equal(recording_add_stack(recording, &stack, frames, NULL), 0);
}

/* Three waits: ended by a thread, ended by an interrupt, not ended. */
static void fill_pairs(struct recording *recording)
{
	assert_int_equal(recording_init(recording), 0);
	assert_int_equal(recording_add_text(recording, "blocked", &recording->weight_type), 0);
	assert_int_equal(recording_add_text(recording, "nanoseconds", &recording->weight_unit), 0);

	const uint32_t delimiter = add_word(recording, RECORDING_DELIMITER);
	const uint32_t thread = add_word(recording, "[thread a;b c 42]");
	const uint32_t irq = add_word(recording, "[irq]");
	const uint32_t root = add_code(recording, "main", "/bin/x", RECORDING_USER);
	const uint32_t leaf = add_code(recording, "read", "/bin/x", RECORDING_USER);
	const uint32_t other = add_code(recording, "write", "/bin/x", RECORDING_USER);
	const uint32_t entry = add_code(recording, "entry", "[kernel.kallsyms]", RECORDING_KERNEL);
	const uint32_t wake = add_code(recording, "wake", "[kernel.kallsyms]", RECORDING_KERNEL);
	const uint32_t sleep = add_code(recording, "sleep", "[kernel.kallsyms]", RECORDING_KERNEL);

	add_pair(recording, 8, 3000,
		 (uint32_t[]){ thread, root, other, entry, wake, delimiter, sleep, entry, leaf,
			       root },
		 10, 0);
	add_pair(recording, 8, 2000, (uint32_t[]){ irq, delimiter, sleep, entry, leaf, root }, 6,
		 0);
	add_pair(recording, 9, 1000, (uint32_t[]){ leaf, root, sleep, entry }, 2, 2);
}

static void waits_name_who_ended_them(void **state)
{
	static const struct {
		struct bcc_output options;
		const char *text;
	} cases[] = {
		{ { .tool = BCC_OFFWAKETIME, .folded = true },
		  "cat;main;read;entry;sleep;--;[none] 1\n"
		  "cat;main;read;entry;sleep;--;[irq] 2\n"
		  "cat;main;read;entry;sleep;--;wake;entry;write;main;a\\x3bb c 3\n" },
		{ { .tool = BCC_OFFWAKETIME, .folded = true, .delimited = true },
		  "cat;main;read;-;entry;sleep;--;[none] 1\n"
		  "cat;main;read;-;entry;sleep;--;[irq] 2\n"
		  "cat;main;read;-;entry;sleep;--;wake;entry;-;write;main;a\\x3bb c 3\n" },
		{ { .tool = BCC_OFFWAKETIME, .delimited = true },
		  "\n"
		  "    waker:           [none] 0\n"
		  "    --               --\n"
		  "    sleep\n    entry\n    -\n    read\n    main\n"
		  "    target:          cat 9\n        1\n\n"
		  "    waker:           [irq] 0\n"
		  "    --               --\n"
		  "    sleep\n    entry\n    -\n    read\n    main\n"
		  "    target:          cat 8\n        2\n\n"
		  "    waker:           a\\x3bb c 42\n"
		  "    main\n    write\n    -\n    entry\n    wake\n"
		  "    --               --\n"
		  "    sleep\n    entry\n    -\n    read\n    main\n"
		  "    target:          cat 8\n        3\n\n" },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	fill_pairs(&recording);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_written(&recording, &cases[i].options, cases[i].text);
}

static void head_names_the_sampled_targets(void **state)
{
	static const pid_t pids[] = { 1, 22 };
	static const struct {
		struct bcc_output options;
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
		{ { .tool = BCC_OFFCPUTIME, .cpu = -1, .user_threads = true },
		  "Tracing off-CPU time (us) of user threads by user + kernel stack... Hit Ctrl-C "
		  "to end.\n" },
		{ { .tool = BCC_OFFCPUTIME, .cpu = -1, .tids = pids, .nr_tids = 2, .seconds = 3 },
		  "Tracing off-CPU time (us) of TID [1, 22] by user + kernel stack for 3 secs.\n" },
		{ { .tool = BCC_OFFCPUTIME, .cpu = -1, .folded = true }, "" },
		{ { .tool = BCC_WAKEUPTIME,
		    .cpu = -1,
		    .kernel_only = true,
		    .pids = pids,
		    .nr_pids = 1 },
		  "Tracing blocked time (us) by kernel stack... Hit Ctrl-C to end.\n" },
		{ { .tool = BCC_WAKEUPTIME, .cpu = -1, .kernel_only = true, .seconds = 2 },
		  "Tracing blocked time (us) by kernel stack for 2 secs.\n" },
		{ { .tool = BCC_WAKEUPTIME, .cpu = -1, .folded = true }, "" },
		{ { .tool = BCC_OFFWAKETIME, .cpu = -1, .seconds = 2 },
		  "Tracing blocked time (us) by user + kernel off-CPU and waker stack for 2 "
		  "secs.\n" },
		{ { .tool = BCC_OFFWAKETIME, .cpu = -1, .user_only = true },
		  "Tracing blocked time (us) by user off-CPU and waker stack... Hit Ctrl-C to "
		  "end.\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		bcc_head(to, &cases[i].options);
		assert_int_equal(fclose(to), 0);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_printed_as_bcc_prints_them),
		cmocka_unit_test(waits_are_microseconds_by_thread),
		cmocka_unit_test(wakeups_name_both_threads),
		cmocka_unit_test(waits_name_who_ended_them),
		cmocka_unit_test(head_names_the_sampled_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
