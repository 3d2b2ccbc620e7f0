/* SPDX-License-Identifier: Apache-2.0 */
/* Whole diffs are held against a second implementation by tests/cli/diff_reference.py. */
#include "cmocka_all.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "diff/significance.h"
#include "diff/student.h"

static void assert_near(double value, double want, double relative)
{
	if (!(fabs(value - want) <= relative * fabs(want)))
		fail_msg("%.15g is not %.15g", value, want);
}

static void digamma_has_its_known_values(void **state)
{
	(void)state;
	assert_near(digamma(1), -0.57721566490153286, 1e-10);
	assert_near(digamma(0.5), -1.9635100260214235, 1e-10);
	assert_near(digamma(10), 2.2517525890667211, 1e-10);
}

/* Values from tables. */
static void quantiles_have_their_known_values(void **state)
{
	static const struct {
		double chance, df, want;
	} cases[] = {
		{ 0.025, 1, 12.706204736174699 },	 { 0.025, 2, 4.3026527297494637 },
		{ 0.025, 4, 2.7764451051977987 },	 { 0.005, 10, 3.1692726726169518 },
		{ 0.0005, 30, 3.6459586350420214 },	 { 0.025, 1000, 1.9623390808264078 },
		{ 0.025, INFINITY, 1.9599639845400545 }, { 0.5, 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_near(1 + student_quantile(cases[i].chance, cases[i].df), 1 + cases[i].want,
			    1e-8);
	/* by one degree of freedom it is Cauchy's, whose tail is known at any distance */
	for (double t = 0.01; t < 1e9; t *= 9)
		assert_near(student_above(t, 1), atan(1 / t) / M_PI, 1e-9);
	for (double df = 0.5; df < 1e8; df *= 3)
		assert_near(student_above(student_quantile(1e-6, df), df), 1e-6, 1e-6);
}

static void noise_is_that_of_counting(void **state)
{
	struct run_tally whole = { 0 }, part = { 0 };
	struct distribution counted = { 0 }, shares = { 0 };

	(void)state;
	assert_int_equal(run_tally_add(&part, 20, 2000, 200000), 0);
	assert_int_equal(run_tally_add(&whole, 100, 10000, 1e+06), 0);

	struct run_tally again = part;

	assert_int_equal(distribution_take(&counted, DIFF_AFTER, &part, &whole, false), 0);
	assert_int_equal(part.count, 0);
	assert_int_equal(distribution_take(&shares, DIFF_AFTER, &again, &whole, true), 0);
	assert_int_equal(counted.count[DIFF_AFTER], 20);
	assert_near(counted.of[DIFF_SAMPLES][DIFF_AFTER].noise, 20, 1e-12);
	/* 20 samples of 100 ns each */
	assert_near(counted.of[DIFF_WEIGHT][DIFF_AFTER].noise, 20 * 100.0 * 100, 1e-12);
	/* p (1 - p) / n, whatever a sample weighs */
	assert_near(shares.of[DIFF_SAMPLES][DIFF_AFTER].noise, 0.2 * 0.8 / 100, 1e-12);
	assert_near(shares.of[DIFF_WEIGHT][DIFF_AFTER].noise, 0.2 * 0.8 / 100, 1e-12);
	assert_near(distribution_sample_noise(&whole, DIFF_WEIGHT, true), 1e-4, 1e-12);
}

/* Heavy samples tell less: two stacks of the same CPU time, one in 100 samples, one in 4. */
static void weights_make_noise(void **state)
{
	struct run_tally whole = { 0 }, light = { 0 }, heavy = { 0 };
	struct distribution a = { 0 }, b = { 0 };

	(void)state;
	assert_int_equal(run_tally_add(&light, 100, 10000, 1e+06), 0);
	assert_int_equal(run_tally_add(&heavy, 4, 10000, 2.5e+07), 0);
	assert_int_equal(run_tally_add(&whole, 100, 10000, 1e+06), 0);
	assert_int_equal(run_tally_add(&whole, 4, 10000, 2.5e+07), 0);
	assert_int_equal(distribution_take(&a, DIFF_BEFORE, &light, &whole, false), 0);
	assert_int_equal(distribution_take(&b, DIFF_BEFORE, &heavy, &whole, false), 0);
	assert_near(a.of[DIFF_WEIGHT][DIFF_BEFORE].noise, 100 * 100.0 * 100, 1e-12);
	assert_near(b.of[DIFF_WEIGHT][DIFF_BEFORE].noise, 4 * 2500.0 * 2500, 1e-12);
}

static void counts_beyond_64_bits_are_an_error(void **state)
{
	struct run_tally whole = { 0 }, part = { .count = UINT64_MAX };
	struct distribution distribution = { 0 };

	(void)state;
	assert_int_equal(run_tally_add(&part, 1, 0, 0), -EOVERFLOW);
	part.count = UINT64_MAX;
	assert_int_equal(distribution_take(&distribution, DIFF_BEFORE, &part, &whole, false), 0);
	part.count = 1;
	assert_int_equal(distribution_take(&distribution, DIFF_BEFORE, &part, &whole, false),
			 -EOVERFLOW);
}

static struct distribution of_counts(uint64_t before, uint64_t after)
{
	struct distribution ret = { 0 };
	struct run_tally whole = { .count = 10000 }, tally = { .count = before };

	assert_int_equal(distribution_take(&ret, DIFF_BEFORE, &tally, &whole, false), 0);
	tally.count = after;
	assert_int_equal(distribution_take(&ret, DIFF_AFTER, &tally, &whole, false), 0);
	return ret;
}

static void single_runs_are_judged_by_their_counts(void **state)
{
	static const struct {
		const char *what;
		uint64_t before, after;
		enum diff_verdict verdict;
	} cases[] = {
		{ "equal", 100, 100, DIFF_NOISE },
		{ "within what counting varies by", 100, 125, DIFF_NOISE },
		{ "beyond", 100, 150, DIFF_REAL },
		{ "new", 0, 40, DIFF_NEW },
		{ "gone", 40, 0, DIFF_GONE },
		{ "too few to tell", 0, 11, DIFF_NOISE },
		{ "nothing at all", 0, 0, DIFF_NOISE },
		{ "so many that counting hardly varies, by less than runs do", 10000000, 10500000,
		  DIFF_NOISE },
		{ "by more than runs do", 10000000, 12800000, DIFF_REAL },
	};
	const struct significance_options options = { .runs = { 1, 1 }, .sample_noise = { 1, 1 } };
	struct significance significance;

	(void)state;
	significance_fit(&options, NULL, &significance);
	assert_true(significance.assumed);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct distribution counts = of_counts(cases[i].before, cases[i].after);
		struct diff_change change;

		significance_judge(&significance, SIGNIFICANCE_OTHER,
				   significance_quantile(&significance, 1), &counts, &change);
		if (change.verdict != cases[i].verdict)
			fail_msg("%s: %s", cases[i].what, diff_verdict_key(change.verdict));
	}
	assert_string_equal(diff_verdict_key(DIFF_VERDICT_COUNT), "unknown");
}

static void a_side_without_a_value_makes_everything_noise(void **state)
{
	const struct significance_options options = { .shares = true,
						      .runs = { 1, 0 },
						      .sample_noise = { 1e-8, 0 } };
	struct distribution counts = of_counts(5000, 0);
	struct significance significance;
	struct diff_change change;

	(void)state;
	significance_fit(&options, NULL, &significance);
	significance_judge(&significance, SIGNIFICANCE_OTHER, 2, &counts, &change);
	assert_int_equal(change.verdict, DIFF_NOISE);
	assert_true(isinf(change.interval));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digamma_has_its_known_values),
		cmocka_unit_test(quantiles_have_their_known_values),
		cmocka_unit_test(noise_is_that_of_counting),
		cmocka_unit_test(weights_make_noise),
		cmocka_unit_test(counts_beyond_64_bits_are_an_error),
		cmocka_unit_test(single_runs_are_judged_by_their_counts),
		cmocka_unit_test(a_side_without_a_value_makes_everything_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
