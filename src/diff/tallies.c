/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/tallies.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

void tallies_fini(struct tallies *tallies)
{
	free(tallies->counts);
	free(tallies->wide);
	*tallies = (struct tallies){ 0 };
}

void tallies_grow(struct tallies *tallies)
{
	size_t nr = tallies->nr++;

	/* one of two arrays, and no VECTOR: both have the same numbers */
	if (tallies->wide) {
		alloc_check(array_reserve(&tallies->wide, sizeof(*tallies->wide), &tallies->room,
					  nr + 1));
		tallies->wide[nr] = (struct tallied){ 0 };
	} else {
		alloc_check(array_reserve(&tallies->counts, sizeof(*tallies->counts),
					  &tallies->room, nr + 1));
		tallies->counts[nr][DIFF_BEFORE] = tallies->counts[nr][DIFF_AFTER] = 0;
	}
}

/* The distribution that @counts are: each side has had one run at most, which weighed nothing. */
static int distribution_of(const uint32_t counts[DIFF_SIDES], const struct tally_runs *runs,
			   struct distribution *ret)
{
	int err = 0;

	*ret = (struct distribution){ 0 };
	for (enum diff_side side = 0; !err && side < DIFF_SIDES; side++) {
		struct run_tally tally = { .count = counts[side] };

		if (runs->nr[side])
			err = distribution_take(ret, side, &tally, &runs->whole[side],
						runs->shares);
	}
	return err;
}

static int widen(struct tallies *tallies, const struct tally_runs *runs)
{
	struct tallied *wide = must_calloc(tallies->room ? tallies->room : 1, sizeof(*wide));
	int err = 0;

	for (size_t i = 0; !err && i < tallies->nr; i++) {
		err = distribution_of(tallies->counts[i], runs, &wide[i].distribution);
		if (runs->open)
			wide[i].run.count = tallies->counts[i][runs->side];
	}
	if (err) {
		free(wide);
		return err;
	}
	free(tallies->counts);
	tallies->counts = NULL;
	tallies->room = tallies->room ? tallies->room : 1;
	tallies->wide = wide;
	return 0;
}

int tallies_begin_run(struct tallies *tallies, const struct tally_runs *runs, enum diff_side side)
{
	return runs->nr[side] && !tallies->wide ? widen(tallies, runs) : 0;
}

int tallies_add(struct tallies *tallies, const struct tally_runs *runs, size_t idx, uint64_t count,
		uint64_t weight, double squares)
{
	if (!tallies->wide) {
		uint32_t *narrow = &tallies->counts[idx][runs->side];

		if (!weight && count <= UINT32_MAX - *narrow) {
			*narrow += (uint32_t)count;
			return 0;
		}

		int err = widen(tallies, runs);

		if (err)
			return err;
	}
	return run_tally_add(&tallies->wide[idx].run, count, weight, squares);
}

int tallies_end_run(struct tallies *tallies, const struct tally_runs *runs)
{
	int err = 0;

	for (size_t i = 0; !err && tallies->wide && i < tallies->nr; i++)
		err = distribution_take(&tallies->wide[i].distribution, runs->side,
					&tallies->wide[i].run, &runs->whole[runs->side],
					runs->shares);
	return err;
}

const struct distribution *tallies_get(const struct tallies *tallies, const struct tally_runs *runs,
				       size_t idx, struct distribution *buf)
{
	if (tallies->wide)
		return &tallies->wide[idx].distribution;
	/* two counts of 32 bits overflow nothing */
	(void)!distribution_of(tallies->counts[idx], runs, buf);
	return buf;
}
