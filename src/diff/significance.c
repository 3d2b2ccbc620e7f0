/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/significance.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "diff/student.h"

/* Dispersions below are taken for this: their logarithms are what the prior is fitted to. */
#define DISPERSION_MIN 1e-4
/*
 * However much most functions agree, some vary ten times as much from run to run (hashing by a
 * seed, being preempted): more trust in the others calls those real.
 */
#define PRIOR_DF_MAX 4.0
/* Beyond, relative to the mean, runs tell nothing. */
#define VARIATION_MAX 10.0

const char *diff_verdict_key(enum diff_verdict verdict)
{
	static const char *const keys[DIFF_VERDICT_COUNT] = {
#define X(name, key, text) [DIFF_##name] = #key,
		DIFF_VERDICT_LIST(X)
#undef X
	};

	return verdict < DIFF_VERDICT_COUNT ? keys[verdict] : "unknown";
}

/* The values of one thing in the runs of a side. */
struct sample {
	double mean;
	double rest;  /* sum of the squares of what the runs differ from the mean by */
	double noise; /* of one run */
	double scale; /* what the variation is relative to */
};

static struct sample sample_of(const struct significance_options *options,
			       const struct distribution *distribution, enum diff_side side)
{
	const struct spread *spread = &distribution->of[options->measure][side];
	double nr = (double)options->runs[side];
	struct sample ret = { 0 };

	if (!options->runs[side])
		return ret;
	ret.mean = spread->sum / nr;
	ret.rest = spread->squares - spread->sum * ret.mean;
	if (ret.rest < 0) /* by rounding */
		ret.rest = 0;
	/*
	 * One sample more than there are: what was not seen once has noise, too (Agresti and Caffo
	 * 2000, for the difference of two proportions).
	 */
	ret.noise = (spread->noise + options->sample_noise[side] / nr) / nr;
	ret.scale = options->shares ? ret.mean * (1 - ret.mean) : ret.mean;
	return ret;
}

static double expected(const struct sample *sample, double variation)
{
	return sample->noise + variation * variation * sample->scale * sample->scale;
}

/* The variance of the runs, over the expected one. */
static double dispersion(const struct significance_options *options,
			 const struct distribution *distribution, double variation, unsigned df)
{
	double sum = 0;

	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		struct sample sample = sample_of(options, distribution, side);
		double want = expected(&sample, variation);

		if (options->runs[side] > 1 && want > 0)
			sum += sample.rest / want;
	}
	return sum / df;
}

bool significance_is_tested(const struct distribution *distribution)
{
	/* the sum may be beyond 64 bits; the parts are not */
	return distribution->count[DIFF_BEFORE] >= SIGNIFICANCE_SAMPLES_MIN ||
	       distribution->count[DIFF_AFTER] >= SIGNIFICANCE_SAMPLES_MIN ||
	       distribution->count[DIFF_BEFORE] + distribution->count[DIFF_AFTER] >=
		       SIGNIFICANCE_SAMPLES_MIN;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The distributions of a list that are tested, and room for a number of each. */
struct tested {
	const struct distribution **list; /* owned [nr] */
	double *values;			  /* owned [nr] */
	size_t nr;
};

static void tested_fini(struct tested *tested)
{
	free(tested->list);
	free(tested->values);
}

static void tested_init(const struct distribution *const *list, size_t nr, struct tested *ret)
{
	*ret = (struct tested){ .list = must_calloc(nr, sizeof(const struct distribution *)),
				.values = must_calloc(nr, sizeof(double)) };
	for (size_t i = 0; i < nr; i++)
		if (significance_is_tested(list[i]))
			ret->list[ret->nr++] = list[i];
}

/* The median dispersion of all that are tested, of one at least. */
static double median_dispersion(const struct significance *significance, struct tested *tested,
				double variation)
{
	size_t nr = tested->nr;

	for (size_t i = 0; i < nr; i++)
		tested->values[i] = dispersion(&significance->options, tested->list[i], variation,
					       significance->df);
	qsort(tested->values, nr, sizeof(*tested->values), compare_doubles);
	return nr % 2 ? tested->values[nr / 2]
		      : (tested->values[nr / 2 - 1] + tested->values[nr / 2]) / 2;
}

/*
 * The variation with which runs differ as expected. By the median: a few functions that vary much
 * more, as some always do, say nothing of the others.
 */
static double fit_variation(const struct significance *significance, struct tested *tested)
{
	/* of chi-square / df, by Wilson and Hilferty */
	double root = 1 - 2 / (9.0 * significance->df), want = root * root * root;
	double lo = 0, hi = VARIATION_MAX;

	if (!tested->nr || median_dispersion(significance, tested, 0) <= want)
		return 0;
	for (int i = 0; i < 40; i++) {
		double mid = lo + (hi - lo) / 2;

		if (median_dispersion(significance, tested, mid) > want)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/* Moments of the logarithms of dispersions, less the mean of the logarithm of chi-square / df. */
struct moments {
	double sum, squares;
	size_t nr;
};

static struct moments log_moments(const struct significance *significance,
				  const struct tested *tested)
{
	double half_df = significance->df / 2.0, usual = digamma(half_df) - log(half_df);
	struct moments ret = { 0 };

	for (size_t i = 0; i < tested->nr; i++) {
		double value, excess;

		value = dispersion(&significance->options, tested->list[i], significance->variation,
				   significance->df);
		excess = log(value > DISPERSION_MIN ? value : DISPERSION_MIN) - usual;
		ret.sum += excess;
		ret.squares += excess * excess;
		ret.nr++;
	}
	return ret;
}

/* Match the moments: what the logarithms vary by beyond chance is what functions differ by. */
static void fit_prior(struct significance *significance, const struct tested *tested)
{
	struct moments moments = log_moments(significance, tested);
	double mean, excess, df = PRIOR_DF_MAX;

	significance->prior = 1;
	if (moments.nr < 3)
		return;
	mean = moments.sum / (double)moments.nr;
	excess = (moments.squares - moments.sum * mean) / (double)(moments.nr - 1) -
		 trigamma(significance->df / 2.0);
	if (excess > 0)
		df = 2 * trigamma_inverse(excess);
	if (df > PRIOR_DF_MAX)
		df = PRIOR_DF_MAX;
	significance->prior_df = df;
	significance->prior = exp(mean + digamma(df / 2) - log(df / 2));
	/* all functions together tell no more than they have seen */
	if (significance->prior_df > (double)(moments.nr - 1) * significance->df)
		significance->prior_df = (double)(moments.nr - 1) * significance->df;
}

void significance_fit(const struct significance_options *options,
		      const struct distribution *const *list, size_t nr, struct significance *ret)
{
	CLEANUP(tested_fini) struct tested tested = { 0 };

	*ret = (struct significance){ .options = *options, .prior = 1 };
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		if (options->runs[side])
			ret->df += (unsigned)(options->runs[side] - 1);
	if (!ret->df) {
		ret->assumed = true;
		ret->variation = SIGNIFICANCE_ASSUMED_VARIATION;
		return;
	}
	tested_init(list, nr, &tested);
	ret->variation = fit_variation(ret, &tested);
	fit_prior(ret, &tested);
}

double significance_quantile(const struct significance *significance, size_t nr_tests)
{
	double chance = SIGNIFICANCE_LEVEL / 2 / (double)(nr_tests ? nr_tests : 1);

	if (!significance->df)
		return student_quantile(chance, INFINITY);
	return student_quantile(chance, significance->df + significance->prior_df);
}

/* The dispersion of one thing, in the light of all others. */
static double moderated(const struct significance *significance,
			const struct distribution *distribution)
{
	double own, value;

	if (!significance->df)
		return 1;
	own = dispersion(&significance->options, distribution, significance->variation,
			 significance->df);
	value = (significance->prior_df * significance->prior + significance->df * own) /
		(significance->prior_df + significance->df);
	return value > 1 ? value : 1;
}

static enum diff_verdict verdict_of(const struct distribution *distribution)
{
	if (!distribution->count[DIFF_BEFORE])
		return DIFF_NEW;
	return distribution->count[DIFF_AFTER] ? DIFF_REAL : DIFF_GONE;
}

void significance_judge(const struct significance *significance, double quantile,
			const struct distribution *distribution, struct diff_change *ret)
{
	const struct significance_options *options = &significance->options;
	double variance = 0;

	*ret = (struct diff_change){ .verdict = DIFF_NOISE };
	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		struct sample sample = sample_of(options, distribution, side);

		*(side == DIFF_BEFORE ? &ret->before : &ret->after) = sample.mean;
		/* of a side without a value nothing is known */
		variance += options->runs[side] ? expected(&sample, significance->variation) /
							  (double)options->runs[side]
						: INFINITY;
	}
	ret->change = ret->after - ret->before;
	ret->interval = quantile * sqrt(variance * moderated(significance, distribution));
	if (significance_is_tested(distribution) && fabs(ret->change) > ret->interval)
		ret->verdict = verdict_of(distribution);
}
