/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/distribution.h"

#include <errno.h>
#include <stddef.h>

int run_tally_add(struct run_tally *tally, uint64_t count, uint64_t weight, double squares)
{
	if (__builtin_add_overflow(tally->count, count, &tally->count) ||
	    __builtin_add_overflow(tally->weight, weight, &tally->weight))
		return -EOVERFLOW;
	tally->squares += squares;
	return 0;
}

/* The numbers of a tally that a measure counts. */
struct seen {
	double value, squares;
};

static struct seen see(const struct run_tally *tally, enum diff_measure measure)
{
	if (measure == DIFF_WEIGHT)
		return (struct seen){ (double)tally->weight, tally->squares };
	return (struct seen){ (double)tally->count, (double)tally->count };
}

static void take(struct spread *spread, struct seen part, struct seen whole, bool shares)
{
	double value = part.value, noise = part.squares;

	if (shares) {
		if (whole.value <= 0)
			return;
		value /= whole.value;
		noise = ((1 - 2 * value) * part.squares + value * value * whole.squares) /
			(whole.value * whole.value);
	}
	spread->sum += value;
	spread->squares += value * value;
	spread->noise += noise > 0 ? noise : 0; /* below only by rounding */
}

int distribution_take(struct distribution *distribution, enum diff_side side,
		      struct run_tally *tally, const struct run_tally *whole, bool shares)
{
	uint64_t *count = &distribution->count[side];
	uint64_t *weight = &distribution->weight[side];

	if (__builtin_add_overflow(*count, tally->count, count) ||
	    __builtin_add_overflow(*weight, tally->weight, weight))
		return -EOVERFLOW;
	for (enum diff_measure measure = 0; measure < DIFF_MEASURES; measure++)
		take(&distribution->of[measure][side], see(tally, measure), see(whole, measure),
		     shares);
	*tally = (struct run_tally){ 0 };
	return 0;
}

double distribution_sample_noise(const struct run_tally *whole, enum diff_measure measure,
				 bool shares)
{
	struct seen seen = see(whole, measure);
	double noise;

	if (!whole->count)
		return 0;
	noise = seen.squares / (double)whole->count;
	if (!shares)
		return noise;
	return seen.value > 0 ? noise / (seen.value * seen.value) : 0;
}
