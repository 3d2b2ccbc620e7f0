/* SPDX-License-Identifier: Apache-2.0 */
/* Windows by both clocks, the samples of each, and their counts as differences. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/run_window.h"

#define HOUR (3600 * NS_PER_S)
#define T0   (1700000000 * NS_PER_S)

/* One window after another, of 10 s each, and the step of the wall clock in each. */
struct step_case {
	const char *what;
	int64_t step_ns[4];	/* of the wall clock, before each window begins */
	int64_t starts_at_s[4]; /* by the wall clock, since the first */
	int64_t ahead_s[4];
};

static const struct step_case cases[] = {
	{ "none", { 0, 0, 0, 0 }, { 0, 10, 20, 30 }, { 0, 0, 0, 0 } },
	{ "back by an hour",
	  { 0, -(int64_t)HOUR, 0, 0 },
	  { 0, 10, 20, 30 },
	  { 0, 3600, 3600, 3600 } },
	{ "back by 5 s, and forward again",
	  { 0, -5 * (int64_t)NS_PER_S, 5 * (int64_t)NS_PER_S, 0 },
	  { 0, 10, 20, 30 },
	  { 0, 5, 0, 0 } },
	{ "forward by an hour",
	  { 0, (int64_t)HOUR, 0, 0 },
	  { 0, 3610, 3620, 3630 },
	  { 0, 0, 0, 0 } },
};

static void no_step_of_the_clock_makes_windows_overlap(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_window windows[2] = { 0 };
		uint64_t unix_ns = T0, now_ns = HOUR;

		assert_int_equal(run_window_init(&windows[0], 1 << 20, 0, 0, false, NULL, NULL), 0);
		assert_int_equal(run_window_init(&windows[1], 1 << 20, 0, 0, false, NULL, NULL), 0);
		for (unsigned k = 0; k < 4; k++) {
			struct run_window *window = &windows[k % 2], *before = &windows[!(k % 2)];

			unix_ns += (uint64_t)cases[i].step_ns[k];
			run_window_begin(window, k ? before : NULL, now_ns, unix_ns);
			assert_int_equal(window->number, k);
			if ((int64_t)(window->start_unix_ns - T0) !=
			    cases[i].starts_at_s[k] * (int64_t)NS_PER_S)
				fail_msg("%s: window %u", cases[i].what, k);
			assert_int_equal(window->ahead_ns,
					 (uint64_t)cases[i].ahead_s[k] * NS_PER_S);
			if (k)
				assert_true(window->start_unix_ns >=
					    before->start_unix_ns +
						    (before->end_ns - before->start_ns));
			now_ns += 10 * NS_PER_S;
			unix_ns += 10 * NS_PER_S;
			window->end_ns = now_ns;
		}
		run_window_fini(&windows[0]);
		run_window_fini(&windows[1]);
	}
}

static void a_window_begins_empty(void **state)
{
	const struct fpl_sample sample = { .count = 1, .nr_user = 1 };
	const uint64_t frame = 1ull << FPL_FRAME_OBJECT_SHIFT;
	struct run_window window = { 0 };

	(void)state;
	assert_int_equal(run_window_init(&window, 1 << 20, 0, 0, false, NULL, NULL), 0);
	run_window_begin(&window, NULL, 1, 1);
	for (int i = 0; i < 2; i++) {
		size_t bytes = stack_store_bytes(window.store);

		assert_int_equal(stack_store_add(window.store, &sample, &frame, NULL), 0);
		run_window_count(&(struct fpl_stack){ .id = 1, .count = 2 }, &window);
		assert_true(stack_store_names(window.store, 1));
		run_window_begin(&window, NULL, 1, 1);
		assert_int_equal(stack_store_nr(window.store), 0);
		assert_false(stack_store_names(window.store, 1));
		assert_int_equal(window.counts.nr, 0);
		if (i) /* it keeps its arrays, and no more */
			assert_int_equal(stack_store_bytes(window.store), bytes);
	}
	run_window_fini(&window);
}

static void samples_find_their_window_by_their_time(void **state)
{
	struct intake now = { 0 }, before = { 0 };
	struct intakes intakes = { .now = &now };

	(void)state;
	assert_ptr_equal(intake_of(&intakes, 0), &now);
	intakes.before = &before;
	intakes.since_ns = 100;
	assert_ptr_equal(intake_of(&intakes, 99), &before);
	assert_ptr_equal(intake_of(&intakes, 100), &now);
}

static void a_window_has_the_difference_of_two_readings(void **state)
{
	struct reading before = { .counters = { .fired = 10, .deep_cut = 3 },
				  .due = { 20, 30, 40 },
				  .bpf_runs = 5 };
	struct reading after = before, since;

	(void)state;
	after.counters.fired += 7;
	after.counters.passed[FPL_SOURCES_MAX - 1] += 9;
	after.counters.lost[7] += 2;
	after.due = (struct source_due){ 21, 32, 43 };
	after.bpf_runs += 4;
	since = reading_since(&after, &before);
	assert_int_equal(since.counters.fired, 7);
	assert_int_equal(since.counters.passed[FPL_SOURCES_MAX - 1], 9);
	assert_int_equal(since.counters.lost[7], 2);
	assert_int_equal(since.counters.deep_cut, 0);
	assert_int_equal(since.due.expected, 1);
	assert_int_equal(since.due.counted, 2);
	assert_int_equal(since.due.left_out, 3);
	assert_int_equal(since.bpf_runs, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_step_of_the_clock_makes_windows_overlap),
		cmocka_unit_test(a_window_begins_empty),
		cmocka_unit_test(samples_find_their_window_by_their_time),
		cmocka_unit_test(a_window_has_the_difference_of_two_readings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
