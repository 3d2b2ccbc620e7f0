/* SPDX-License-Identifier: Apache-2.0 */
/* Would a growth by as much as a limit have been seen? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "diff/difference.h"

/* More runs a side than this are not advised: longer runs are. */
#define GROWTH_POWER_RUNS_MAX 100u

struct growth_power {
	double limit; /* per cent; INFINITY: there is no limit */
	double shows; /* the least growth that is found 9 times in 10; INFINITY: not known */
	size_t runs;  /* where that is more than the limit, runs a side that find the limit; 0: too
			 many */
	bool hidden;  /* a growth by the limit may be called noise. Never for a limit of 0 */
};

/*
 * The growth by @limit per cent of what changes are told in: of the whole, where it is judged, and
 * of any function by itself. Cost: that of difference_widest(), and 100 quantiles.
 */
struct growth_power growth_power_of_whole(const struct difference *difference, double limit);

/* The growth by @limit per cent of what a function took, if that is a tenth of the whole. */
struct growth_power growth_power_of_itself(const struct difference *difference, double limit);
