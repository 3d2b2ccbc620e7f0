/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/frame_judge.h"

#include <math.h>

struct frame_judge frame_judge_make(const struct diff_picture *picture)
{
	const uint64_t *samples = picture->paths->samples;
	const struct significance *significance = picture->significance;
	double before = (double)samples[DIFF_BEFORE], after = (double)samples[DIFF_AFTER];
	struct frame_judge judge = {
		.sample = picture->sample,
		.wide_by = samples[DIFF_AFTER] ? DIFF_AFTER : DIFF_BEFORE,
		.scale = picture->normalize && before > 0 && after > 0
				 ? after / before
				 : (double)picture->runs[DIFF_AFTER] /
					   (double)picture->runs[DIFF_BEFORE],
		.dispersion = significance->prior[SIGNIFICANCE_SELF] > 1
				      ? significance->prior[SIGNIFICANCE_SELF]
				      : 1,
		.variation = significance->variation,
		.runs = { picture->runs[DIFF_BEFORE], picture->runs[DIFF_AFTER] },
	};

	judge.percent = 100 / (before > 0 ? judge.scale * before : after > 0 ? after : 1);
	return judge;
}

double frame_judge_change(const struct frame_judge *judge, const uint64_t count[DIFF_SIDES])
{
	return (double)count[DIFF_AFTER] - judge->scale * (double)count[DIFF_BEFORE];
}

double frame_judge_interval(const struct frame_judge *judge, const uint64_t count[DIFF_SIDES])
{
	double before = judge->scale * (double)count[DIFF_BEFORE];
	double after = (double)count[DIFF_AFTER];
	/* counting, with one sample more than there are, and what runs vary by */
	double sample = judge->sample;
	double counting =
		sample * (judge->scale * (before + judge->scale * sample) + after + sample);
	double between = before * before / (double)judge->runs[DIFF_BEFORE] +
			 after * after / (double)judge->runs[DIFF_AFTER];

	return judge->quantile *
	       sqrt(judge->dispersion * (counting + judge->variation * judge->variation * between));
}
