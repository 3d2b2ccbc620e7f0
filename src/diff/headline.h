/* SPDX-License-Identifier: Apache-2.0 */
/* A difference in one line, and what of it is beyond a limit. */
#pragma once

#include "diff/difference.h"

/*
 * "2 functions changed: read_line -27.44, swap +4.05 (new) (in % of the CPU time before)", largest
 * change first; or the most that any may have changed by. What functions changed by themselves is
 * told first; else what they changed by with what they call. @counted: what counts are of. Names
 * are as they are in the pairing. The caller frees it. Cost: that of a few difference_list_make().
 */
char *headline_make(const struct difference *difference, const char *counted);

/*
 * By how much any function may have changed by itself, to either side, in per cent of what
 * difference.unit makes of changes: with the certainty of the table no one by more. INFINITY: not
 * known.
 */
double headline_bound(const struct difference *difference);

/* Growth in per cent from which on it is beyond a limit: INFINITY: no limit. */
struct growth_limit {
	double of_whole;  /* of what changes are told in */
	double of_itself; /* of what the function, or the whole, took before */
};

/*
 * The list of those that grew by more than noise and beyond a limit: the whole, functions by
 * themselves, and, where there was nothing else, functions with what they call. "the whole +12.30
 * %, read_line +10.50 % (by 40 % of itself)": freed by the caller; NULL: nothing did.
 */
char *headline_beyond(const struct difference *difference, const struct growth_limit *limit);
