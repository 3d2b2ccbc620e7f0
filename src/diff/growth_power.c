/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/growth_power.h"

#include <math.h>

struct measured {
	const struct difference *difference;
	struct diff_test widest; /* of the whole */
	bool of_itself;
};

/* The growth in per cent that @runs runs a side show; 0: those there are. */
static double shows(const struct measured *measured, size_t runs)
{
	const struct difference *difference = measured->difference;
	const struct diff_test *test = &measured->widest;

	if (measured->of_itself)
		return difference_shows(difference, runs);
	return 100 * difference->unit *
	       significance_shows_of(&difference->significance, test->kind, test->chance,
				     test->interval, runs);
}

static struct growth_power power_of(const struct measured *measured, double limit)
{
	const size_t *there = measured->difference->significance.options.runs;
	size_t fewest =
		there[DIFF_BEFORE] < there[DIFF_AFTER] ? there[DIFF_BEFORE] : there[DIFF_AFTER];
	struct growth_power ret = { .limit = limit, .shows = INFINITY };

	if (!isfinite(limit))
		return ret;
	if (fewest)
		ret.shows = shows(measured, 0);
	ret.hidden = limit > 0 && ret.shows > limit;
	for (size_t runs = fewest + 1;
	     ret.hidden && isfinite(ret.shows) && !ret.runs && runs <= GROWTH_POWER_RUNS_MAX;
	     runs++)
		if (shows(measured, runs) <= limit)
			ret.runs = runs;
	return ret;
}

struct growth_power growth_power_of_whole(const struct difference *difference, double limit)
{
	struct measured measured = { .difference = difference };

	if (isfinite(limit))
		measured.widest = difference_widest(difference);
	return power_of(&measured, limit);
}

struct growth_power growth_power_of_itself(const struct difference *difference, double limit)
{
	return power_of(&(struct measured){ .difference = difference, .of_itself = true }, limit);
}
