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
			     "c;main;read_[k] 1\n";
enum { A, AX, B, READ, KERNEL_READ };

/* One line for each box, in the order of their arrival: "depth name from-to (samples)". */
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
		"%u %s %llu-%llu (%llu)\n", box->depth, flame_text(written->paths, cell->text),
		(unsigned long long)box->from_ns, (unsigned long long)box->to_ns,
		(unsigned long long)box->samples);
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
	  { { .time_ns = 100, .weight_ns = 10, .count = 1, .stack = A } },
	  1,
	  "1 a 90-100 (1)\n0 main 90-100 (1)\n" },
	{ "the same again",
	  { { .time_ns = 100, .weight_ns = 10, .count = 1, .stack = A },
	    { .time_ns = 110, .weight_ns = 10, .count = 1, .stack = A } },
	  2,
	  "1 a 90-110 (2)\n0 main 90-110 (2)\n" },
	{ "deeper and back",
	  { { .time_ns = 100, .weight_ns = 10, .count = 1, .stack = A },
	    { .time_ns = 110, .weight_ns = 10, .count = 1, .stack = AX },
	    { .time_ns = 120, .weight_ns = 10, .count = 1, .stack = B } },
	  3,
	  "2 x 100-110 (1)\n1 a 90-110 (2)\n1 b 110-120 (1)\n0 main 90-120 (3)\n" },
	{ "clocks that are not exact",
	  { { .time_ns = 100, .weight_ns = 10, .count = 1, .stack = A },
	    { .time_ns = 114, .weight_ns = 10, .count = 1, .stack = A },
	    { .time_ns = 121, .weight_ns = 10, .count = 1, .stack = B } },
	  3,
	  "1 a 90-114 (2)\n1 b 114-121 (1)\n0 main 90-121 (3)\n" },
	{ "a pause",
	  { { .time_ns = 100, .weight_ns = 10, .count = 1, .stack = A },
	    { .time_ns = 116, .weight_ns = 10, .count = 1, .stack = A } },
	  2,
	  "1 a 90-100 (1)\n0 main 90-100 (1)\n1 a 106-116 (1)\n0 main 106-116 (1)\n" },
	{ "kernel code of the same name",
	  { { .time_ns = 100, .weight_ns = 10, .count = 1, .stack = READ },
	    { .time_ns = 110, .weight_ns = 10, .count = 1, .stack = KERNEL_READ } },
	  2,
	  "1 read 90-100 (1)\n1 read 100-110 (1)\n0 main 90-110 (2)\n" },
	{ "no weight, and none before the start",
	  { { .time_ns = 3, .count = 1, .stack = A }, { .time_ns = 8, .count = 2, .stack = B } },
	  2,
	  "1 a 0-3 (1)\n1 b 3-8 (2)\n0 main 0-8 (3)\n" },
};

static void neighbours_that_read_the_same_are_one(void **state)
{
	const struct read_options options = { .memory = READ_MEMORY_BYTES };
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(flame_paths_fini) struct flame_paths paths;

	(void)state;
	assert_int_equal(recording_of(folded, strlen(folded), &options, &recording, NULL), 0);
	flame_paths_init(&paths);
	assert_int_equal(flame_paths_add(&paths, &recording,
					 &(struct flame_paths_options){ .no_labels = true }, 0,
					 NULL),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct chart_lane lane = {
			.recording = &recording,
			.paths = &paths,
			.samples = cases[i].samples,
			.nr = cases[i].nr,
			.usual_ns = 5,
		};
		struct written written = { .paths = &paths };

		chart_lane_walk(&lane, put, &written);
		if (strcmp(written.text, cases[i].wanted) != 0)
			fail_msg("%s: %s", cases[i].what, written.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_that_read_the_same_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
