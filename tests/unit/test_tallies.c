/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of few bytes tell what distributions tell, whenever they have to become those. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "diff/tallies.h"

enum { NR_THINGS = 3 };

/* Samples of each thing in a run. */
struct counted_run {
	enum diff_side side;
	uint64_t counts[NR_THINGS], weight;
};

static const struct {
	const char *what;
	struct counted_run runs[4];
	size_t nr;
	bool wide;
} cases[] = {
	{ "one run a side",
	  { { DIFF_BEFORE, { 1, 0, 7 }, 0 }, { DIFF_AFTER, { 0, 5, 9 }, 0 } },
	  2,
	  false },
	{ "the other side first",
	  { { DIFF_AFTER, { 2, 3, 4 }, 0 }, { DIFF_BEFORE, { 5, 6, 7 }, 0 } },
	  2,
	  false },
	{ "one side alone", { { DIFF_AFTER, { 2, 3, 4 }, 0 } }, 1, false },
	{ "nothing was sampled",
	  { { DIFF_BEFORE, { 0 }, 0 }, { DIFF_AFTER, { 1, 2, 3 }, 0 } },
	  2,
	  false },
	{ "counts of 32 bits", { { DIFF_BEFORE, { UINT32_MAX, 1, 1 }, 0 } }, 1, false },
	{ "counts of more",
	  { { DIFF_BEFORE, { 3, 4, 5 }, 0 }, { DIFF_AFTER, { 6, UINT32_MAX + 1ull, 7 }, 0 } },
	  2,
	  true },
	{ "samples that weigh",
	  { { DIFF_BEFORE, { 3, 4, 5 }, 0 }, { DIFF_AFTER, { 6, 7, 8 }, 1000 } },
	  2,
	  true },
	{ "two runs of a side",
	  { { DIFF_BEFORE, { 3, 4, 5 }, 0 },
	    { DIFF_AFTER, { 6, 7, 8 }, 0 },
	    { DIFF_BEFORE, { 4, 4, 4 }, 0 },
	    { DIFF_AFTER, { 0, 0, 0 }, 0 } },
	  4,
	  true },
};

/* The verdict of distributions alone on the runs. */
static void expect(const struct counted_run *runs, size_t nr, bool shares, struct distribution *ret)
{
	memset(ret, 0, NR_THINGS * sizeof(*ret));
	for (size_t i = 0; i < nr; i++) {
		struct run_tally whole = { 0 }, parts[NR_THINGS] = { 0 };

		for (size_t j = 0; j < NR_THINGS; j++) {
			/* in two parts, as stacks come */
			uint64_t first = runs[i].counts[j] / 2;

			for (uint64_t part = 0; part < 2; part++) {
				uint64_t count = part ? runs[i].counts[j] - first : first;

				uint64_t weight = count ? runs[i].weight : 0;
				double squares = 3.0 * (double)weight;

				assert_int_equal(run_tally_add(&parts[j], count, weight, squares),
						 0);
				assert_int_equal(run_tally_add(&whole, count, weight, squares), 0);
			}
		}
		for (size_t j = 0; j < NR_THINGS; j++)
			assert_int_equal(
				distribution_take(&ret[j], runs[i].side, &parts[j], &whole, shares),
				0);
	}
}

static void count(struct tallies *tallies, struct tally_runs *runs, const struct counted_run *run)
{
	struct run_tally *whole = &runs->whole[run->side];

	assert_int_equal(tallies_begin_run(tallies, runs, run->side), 0);
	*whole = (struct run_tally){ 0 };
	runs->side = run->side;
	runs->open = true;
	for (size_t j = 0; j < NR_THINGS; j++) {
		uint64_t first = run->counts[j] / 2;

		for (uint64_t part = 0; part < 2; part++) {
			uint64_t samples = part ? run->counts[j] - first : first;
			uint64_t weight = samples ? run->weight : 0;

			double squares = 3.0 * (double)weight;

			assert_int_equal(tallies_add(tallies, runs, j, samples, weight, squares),
					 0);
			assert_int_equal(run_tally_add(whole, samples, weight, squares), 0);
		}
	}
	assert_int_equal(tallies_end_run(tallies, runs), 0);
	runs->nr[run->side]++;
	runs->open = false;
}

static void counts_agree_with_distributions(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		size_t c = i / 2;
		struct tallies tallies = { 0 };
		struct tally_runs runs = { .shares = i % 2 };
		struct distribution want[NR_THINGS], buf;

		for (size_t j = 0; j < NR_THINGS; j++)
			tallies_grow(&tallies);
		for (size_t j = 0; j < cases[c].nr; j++)
			count(&tallies, &runs, &cases[c].runs[j]);
		expect(cases[c].runs, cases[c].nr, i % 2, want);
		for (size_t j = 0; j < NR_THINGS; j++) {
			const struct distribution *got = tallies_get(&tallies, &runs, j, &buf);

			if (memcmp(got, &want[j], sizeof(buf)) != 0 ||
			    tallies_count(&tallies, j, DIFF_AFTER) != want[j].count[DIFF_AFTER])
				fail_msg("%s: thing %zu", cases[c].what, j);
		}
		assert_int_equal(tallies.wide != NULL, cases[c].wide);
		tallies_fini(&tallies);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_agree_with_distributions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
