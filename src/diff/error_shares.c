/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "diff/significance.h"
#include "diff/student.h"

/* The change that the error rate is shared for, relative to what was before. */
#define WANTED_CHANGE 0.2
/* The part of the error rate that is shared equally: large changes of small things are found. */
#define EQUALLY 0.1
/* Quantiles are kept for chances of whole steps, rounded down to them. */
#define STEPS_AN_OCTAVE 8

double significance_effect(const struct significance *significance,
			   const struct distribution *distribution)
{
	const struct significance_options *options = &significance->options;
	const size_t *runs = options->runs;
	double nr = (double)runs[DIFF_BEFORE] + (double)runs[DIFF_AFTER], sum = 0, noise = 0;
	double mean, variance, scale;

	if (!significance_is_tested(distribution) || !runs[DIFF_BEFORE] || !runs[DIFF_AFTER])
		return 0;
	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		sum += distribution->of[options->measure][side].sum;
		noise += distribution->of[options->measure][side].noise +
			 options->sample_noise[side] / (double)runs[side];
	}
	mean = sum / nr;
	scale = options->shares ? mean * (1 - mean) : mean;
	scale *= significance->variation;
	variance = (noise / nr + scale * scale) *
		   (1 / (double)runs[DIFF_BEFORE] + 1 / (double)runs[DIFF_AFTER]);
	return variance > 0 ? WANTED_CHANGE * mean / sqrt(variance) : 0;
}

/* The chance that a normal variable is above @z. */
static double normal_above(double z)
{
	return 0.5 * erfc(z / sqrt(2));
}

/* The part of one tail that goes to @effect, by what is found or missed by it. */
static double decisive(double effect, double cut)
{
	return effect > 0 ? normal_above(effect / 2 + cut / effect) : 0;
}

/* The cut with which the parts add up to @level; they fall with it. */
static double find_cut(const double *effects, size_t nr, double level)
{
	double lo = -1e12, hi = 1e12;

	for (int i = 0; i < 100; i++) {
		double mid = lo + (hi - lo) / 2, sum = 0;

		for (size_t k = 0; k < nr && sum <= level; k++)
			sum += decisive(effects[k], mid);
		if (sum > level)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/* The number of the step of @chance; none is below the equal part. */
static size_t step_of(double chance)
{
	double step = ceil(-STEPS_AN_OCTAVE * (log2(chance) + 1));

	return step > 0 ? (size_t)step : 0;
}

void error_shares_make(const struct significance *significance, const double *effects, size_t nr,
		       struct error_shares *ret)
{
	double half = SIGNIFICANCE_LEVEL / 2;
	size_t nr_steps;

	*ret = (struct error_shares){
		.equal = EQUALLY * half / (double)(nr ? nr : 1),
		.cut = find_cut(effects, nr, (1 - EQUALLY) * half),
	};
	nr_steps = step_of(ret->equal) + 1;
	for (enum significance_kind kind = 0; kind < SIGNIFICANCE_KINDS; kind++) {
		double df = significance_degrees(significance, kind);

		ret->quantiles[kind] = must_calloc(nr_steps, sizeof(double));
		/* nothing has more than one tail of the level */
		for (size_t i = step_of(half); i < nr_steps; i++)
			ret->quantiles[kind][i] =
				student_quantile(exp2(-1 - (double)i / STEPS_AN_OCTAVE), df);
	}
}

void error_shares_fini(struct error_shares *shares)
{
	for (enum significance_kind kind = 0; kind < SIGNIFICANCE_KINDS; kind++)
		free(shares->quantiles[kind]);
}

double error_shares_chance(const struct error_shares *shares, double effect)
{
	double chance = shares->equal + decisive(effect, shares->cut);

	return chance < SIGNIFICANCE_LEVEL / 2 ? chance : SIGNIFICANCE_LEVEL / 2;
}

double error_shares_quantile(const struct error_shares *shares, enum significance_kind kind,
			     double effect)
{
	return shares->quantiles[kind][step_of(error_shares_chance(shares, effect))];
}
