/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on the samples that a frame of a picture has on both sides: as of functions, but by
 * the sums alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "diff/diff_write.h"

struct frame_judge {
	double sample;	   /* what one is of what is counted: 1, or an average weight */
	unsigned wide_by;  /* the side that widths are of: DIFF_AFTER, unless it is empty */
	double scale;	   /* samples after that one before stands for */
	double percent;	   /* that one sample after is */
	double dispersion; /* of all functions, at least 1 */
	double variation;  /* of runs */
	double quantile;   /* of the noise of a frame */
	size_t runs[DIFF_SIDES];
};

struct frame_judge frame_judge_make(const struct diff_picture *picture);

/* The change of @count from before to after, in samples after. */
double frame_judge_change(const struct frame_judge *judge, const uint64_t count[DIFF_SIDES]);

/* The interval of that, to either side. The quantile is known by now. */
double frame_judge_interval(const struct frame_judge *judge, const uint64_t count[DIFF_SIDES]);
