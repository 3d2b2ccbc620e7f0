/* SPDX-License-Identifier: Apache-2.0 */
/* Threads in the order of time: what becomes one box, and where time is empty. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "../support/recording_text.h"
#include "base/cleanup.h"
#include "picture/chart_lane.h"

/* Stacks of the tests, by index. */
static const char folded[] = "c;main;a 1\nc;main;a;x 1\nc;main;b 1\nc;main;read 1\n"
			     "c;main;read_[k] 1\nc;other 1\n";
enum { A, AX, B, READ, KERNEL_READ, OTHER };

/* A line for each box and each wait, as they arrive: "depth name from-to (samples, ran)", "wait".
 */
struct written {
	const struct flame_paths *paths;
	char text[512];
	size_t length;
};

static void put(void *ctx, const struct chart_box *box)
{
	struct written *written = ctx;
	const struct shown_function *cell = &written->paths->cells.list[box->cell];

	written->length += (size_t)snprintf(
		written->text + written->length, sizeof(written->text) - written->length,
		"%u %s %llu-%llu (%llu, %llu)\n", box->depth,
		flame_text(written->paths, cell->text), (unsigned long long)box->from_ns,
		(unsigned long long)box->to_ns, (unsigned long long)box->shown,
		(unsigned long long)box->ran_ns);
	assert_true(written->length < sizeof(written->text));
}

static void put_wait(void *ctx, const struct chart_wait *wait)
{
	struct written *written = ctx;

	written->length += (size_t)snprintf(
		written->text + written->length, sizeof(written->text) - written->length,
		"wait %llu-%llu of %u\n", (unsigned long long)wait->from_ns,
		(unsigned long long)wait->to_ns, wait->nr_boxes);
	assert_true(written->length < sizeof(written->text));
}

static const struct {
	const char *what;
	struct thread_sample samples[4];
	size_t nr;
	const char *wanted;
} cases[] = {
	{ "nothing", { { 0 } }, 0, "" },
	{ "one",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = A } },
	  1,
	  "1 a 90-100 (1, 10)\n0 main 90-100 (1, 10)\n" },
	{ "the same again",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = A },
	    { .time_ns = 110, .weight = 10, .count = 1, .stack = A } },
	  2,
	  "1 a 90-110 (2, 20)\n0 main 90-110 (2, 20)\n" },
	{ "deeper and back",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = A },
	    { .time_ns = 110, .weight = 10, .count = 1, .stack = AX },
	    { .time_ns = 120, .weight = 10, .count = 1, .stack = B } },
	  3,
	  "2 x 100-110 (1, 10)\n1 a 90-110 (2, 20)\n1 b 110-120 (1, 10)\n0 main 90-120 (3, 30)\n" },
	{ "clocks that are not exact",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = A },
	    { .time_ns = 114, .weight = 10, .count = 1, .stack = A },
	    { .time_ns = 121, .weight = 10, .count = 1, .stack = B } },
	  3,
	  "1 a 90-114 (2, 24)\n1 b 114-121 (1, 7)\n0 main 90-121 (3, 31)\n" },
	{ "others ran, and all of the stack is still there",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = A },
	    { .time_ns = 116, .weight = 10, .count = 1, .stack = A } },
	  2,
	  "wait 100-106 of 2\n1 a 90-116 (2, 20)\n0 main 90-116 (2, 20)\n" },
	{ "others ran, and some of the stack is still there",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = AX },
	    { .time_ns = 116, .weight = 10, .count = 1, .stack = B },
	    { .time_ns = 200, .weight = 10, .count = 1, .stack = AX } },
	  3,
	  "2 x 90-100 (1, 10)\n1 a 90-100 (1, 10)\nwait 100-106 of 1\n"
	  "1 b 106-116 (1, 10)\nwait 116-190 of 1\n"
	  "2 x 190-200 (1, 10)\n1 a 190-200 (1, 10)\n0 main 90-200 (3, 30)\n" },
	{ "others ran, and nothing of the stack is still there",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = A },
	    { .time_ns = 116, .weight = 10, .count = 1, .stack = OTHER } },
	  2,
	  "1 a 90-100 (1, 10)\n0 main 90-100 (1, 10)\n0 other 106-116 (1, 10)\n" },
	{ "kernel code of the same name",
	  { { .time_ns = 100, .weight = 10, .count = 1, .stack = READ },
	    { .time_ns = 110, .weight = 10, .count = 1, .stack = KERNEL_READ } },
	  2,
	  "1 read 90-100 (1, 10)\n1 read 100-110 (1, 10)\n0 main 90-110 (2, 20)\n" },
	{ "no weight, and none before the start",
	  { { .time_ns = 3, .count = 1, .stack = A }, { .time_ns = 8, .count = 2, .stack = B } },
	  2,
	  "1 a 0-3 (1, 3)\n1 b 3-8 (2, 5)\n0 main 0-8 (3, 8)\n" },
};

/* The boxes and waits of @samples, to @ret, which refers to @paths. */
static void walk(const struct thread_sample *samples, size_t nr, bool cpu_time,
		 const struct flame_paths *paths, struct written *ret)
{
	const struct chart_lane lane = {
		.paths = paths,
		.samples = samples,
		.measure = { .weighs_ns = true },
		.nr = nr,
		.usual_ns = 5,
		.cpu_time = cpu_time,
	};

	*ret = (struct written){ .paths = paths };
	chart_lane_walk(&lane, &(struct chart_lane_to){ put, put_wait, ret });
}

static void make_paths(struct recording *recording, struct flame_paths *paths)
{
	const struct read_options options = { .memory = READ_MEMORY_BYTES };

	assert_int_equal(recording_of(folded, strlen(folded), &options, recording, NULL), 0);
	flame_paths_init(paths);
	assert_int_equal(flame_paths_add(paths, recording,
					 &(struct flame_paths_options){ .no_labels = true }, 0,
					 NULL),
			 0);
}

static void what_reads_the_same_is_one_box(void **state)
{
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	struct written written;

	(void)state;
	make_paths(&recording, &paths);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		walk(cases[i].samples, cases[i].nr, false, &paths, &written);
		if (strcmp(written.text, cases[i].wanted) != 0)
			fail_msg("%s: %s", cases[i].what, written.text);
	}
}

static void in_cpu_time_a_thread_never_waits(void **state)
{
	static const struct thread_sample samples[] = {
		{ .time_ns = 100, .weight = 10, .count = 1, .stack = A },
		{ .time_ns = 200, .weight = 20, .count = 1, .stack = A },
		{ .time_ns = 300, .count = 1, .stack = B },
	};
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	struct written written;

	(void)state;
	make_paths(&recording, &paths);
	walk(samples, ARRAY_SIZE(samples), true, &paths, &written);
	assert_string_equal(written.text,
			    "1 a 0-30 (2, 30)\n1 b 30-35 (1, 5)\n0 main 0-35 (3, 35)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_reads_the_same_is_one_box),
		cmocka_unit_test(in_cpu_time_a_thread_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
