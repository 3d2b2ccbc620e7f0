/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "profile/throttle.h"

#define MS 1000000ull

/* A second in which sampling at the period in force, or being there, costs something. */
struct load {
	double bpf_ns_per_sample, own_ns_per_sample, own_ns;
	double busy_cpus;
};

struct run {
	struct throttle throttle;
	struct throttle_use use;
};

static struct run start(double percent, uint64_t period_ns)
{
	struct run run = { .use = { .now_ns = 5, .bpf_ns = 6, .own_ns = 7, .work_ns = 8 } };

	throttle_init(&run.throttle, percent, period_ns, &run.use);
	return run;
}

/* Lets a second pass. */
static bool second(struct run *run, const struct load *load)
{
	double samples = load->busy_cpus * 1e9 / (double)run->throttle.period_ns;

	run->use.now_ns += 1000 * MS;
	run->use.bpf_ns += (uint64_t)(samples * load->bpf_ns_per_sample);
	run->use.own_ns += (uint64_t)(samples * load->own_ns_per_sample + load->own_ns);
	run->use.work_ns += (uint64_t)(load->busy_cpus * 1e9);
	return throttle_judge(&run->throttle, &run->use);
}

static void without_a_limit_nothing_is_judged(void **state)
{
	const struct load load = { .bpf_ns_per_sample = 1e6, .busy_cpus = 1 };
	struct run run = start(0, MS);

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_false(second(&run, &load));
	assert_int_equal(run.throttle.period_ns, MS);
}

static void start_of_the_run_and_parts_of_windows_are_not_judged(void **state)
{
	const struct load start_up = { .own_ns = 5e8, .bpf_ns_per_sample = 1e4, .busy_cpus = 1 };
	const struct load load = { .bpf_ns_per_sample = 1e4, .busy_cpus = 1 };
	struct run run = start(2, MS);

	(void)state;
	run.use.now_ns += 999 * MS;
	run.use.own_ns += 900 * MS;
	assert_false(throttle_judge(&run.throttle, &run.use));
	assert_int_equal(run.throttle.nr_windows, 0);
	run = start(2, MS);
	assert_false(second(&run, &start_up));
	assert_false(second(&run, &load)); /* 10 us each ms: 1 % */
	assert_true(second(&run, &start_up));
}

/* The period after @seconds of @load, from 1 ms. */
static void period_follows_the_overhead(void **state)
{
	static const struct {
		const char *what;
		double percent;
		struct load load;
		int seconds;
		uint64_t min_us, max_us;
	} cases[] = {
		{ "below the limit", 2, { 10000, 5000, 0, 1 }, 9, 1000, 1000 },
		{ "twice the limit", 1, { 20000, 0, 0, 1 }, 2, 2500, 2500 },
		{ "and no more from there", 1, { 20000, 0, 0, 1 }, 30, 2500, 2500 },
		{ "eightfold at most", 0.1, { 20000, 0, 0, 1 }, 2, 8000, 8000 },
		{ "then on", 0.1, { 20000, 0, 0, 1 }, 3, 25000, 25000 },
		{ "the work is of four CPUs", 1, { 15000, 0, 0, 4 }, 2, 1875, 1875 },
		{ "of an idle target one CPU counts", 1, { 20000, 0, 0, 0.01 }, 9, 1000, 1000 },
		{ "what sampling does not cost is no reason",
		  1,
		  { 500, 0, 1e8, 1 },
		  9,
		  1000,
		  1000 },
		{ "a tenth of the limit is left to sample",
		  1,
		  { 20000, 0, 1e8, 1 },
		  9,
		  18000,
		  20000 },
		{ "1 Hz at least", 0.0001, { 90000, 0, 0, 1 }, 30, 90000, 1000000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run run = start(cases[i].percent, MS);

		for (int k = 0; k < cases[i].seconds; k++)
			second(&run, &cases[i].load);
		if (run.throttle.period_ns < cases[i].min_us * 1000 ||
		    run.throttle.period_ns > cases[i].max_us * 1000)
			fail_msg("%s: %llu ns", cases[i].what,
				 (unsigned long long)run.throttle.period_ns);
	}
}

static void period_shrinks_when_the_load_falls_and_not_before(void **state)
{
	const struct load high = { .bpf_ns_per_sample = 40000, .busy_cpus = 1 };
	const struct load low = { .bpf_ns_per_sample = 2000, .busy_cpus = 1 };
	struct run run = start(1, MS);
	uint64_t last;

	(void)state;
	second(&run, &high);
	assert_true(second(&run, &high));
	last = run.throttle.period_ns;
	assert_int_equal(last, 5 * MS);
	assert_false(second(&run, &low));
	assert_false(second(&run, &low));
	/* a window in between that is not calm begins the count anew */
	assert_false(second(&run, &high));
	for (int i = 0; i < 3; i++) {
		assert_false(second(&run, &low));
		assert_false(second(&run, &low));
		assert_true(second(&run, &low));
		assert_true(run.throttle.period_ns < last && run.throttle.period_ns >= last / 2);
		last = run.throttle.period_ns;
	}
	assert_int_equal(last, MS);
	for (int i = 0; i < 10; i++)
		assert_false(second(&run, &low));
}

static void steady_load_does_not_make_it_swing(void **state)
{
	(void)state;
	for (double ns = 1000; ns < 400000; ns *= 1.3) {
		const struct load load = { ns, ns / 3, 2e6, 2 };
		struct run run = start(1, MS);
		uint64_t nr_changes;

		for (int i = 0; i < 20; i++)
			second(&run, &load);
		nr_changes = run.throttle.nr_changes;
		for (int i = 0; i < 60; i++)
			second(&run, &load);
		if (run.throttle.nr_changes != nr_changes)
			fail_msg("%g ns a sample: still changing", ns);
		assert_true(run.throttle.overhead <= 0.01);
	}
}

static void says_when_sampling_less_would_not_help(void **state)
{
	const struct load load = { .own_ns = 1e8, .bpf_ns_per_sample = 100, .busy_cpus = 1 };
	const struct load calm = { .bpf_ns_per_sample = 100, .busy_cpus = 1 };
	struct run run = start(1, MS);

	(void)state;
	second(&run, &load);
	assert_false(run.throttle.is_stuck);
	second(&run, &load);
	assert_true(run.throttle.is_stuck);
	second(&run, &calm);
	assert_false(run.throttle.is_stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_nothing_is_judged),
		cmocka_unit_test(start_of_the_run_and_parts_of_windows_are_not_judged),
		cmocka_unit_test(period_follows_the_overhead),
		cmocka_unit_test(period_shrinks_when_the_load_falls_and_not_before),
		cmocka_unit_test(steady_load_does_not_make_it_swing),
		cmocka_unit_test(says_when_sampling_less_would_not_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
