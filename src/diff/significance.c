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
 * Dispersions are at least these: where samples are in step with a loop a function varies by less
 * than its counts say.
 */
static const double dispersion_floors[SIGNIFICANCE_KINDS] = {
	[SIGNIFICANCE_SELF] = 0.5,
	[SIGNIFICANCE_OTHER] = 1,
};
/*
 * How many runs' worth the others are. However much most functions agree, some vary ten times as
 * much from run to run (hashing by a seed, being preempted): more trust in the others calls those
 * real. A few runs do not tell how many do, so it is not fitted: docs/decisions/0026-diff-power.md.
 */
static const double prior_dfs[SIGNIFICANCE_KINDS] = {
	[SIGNIFICANCE_SELF] = 5,
	[SIGNIFICANCE_OTHER] = 4,
};
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

static void tested_init(const struct significance_list *all, struct tested *ret)
{
	*ret = (struct tested){ .list = must_calloc(all->nr, sizeof(const struct distribution *)),
				.values = must_calloc(all->nr, sizeof(double)) };
	for (size_t i = 0; i < all->nr; i++)
		if (significance_is_tested(all->list[i]))
			ret->list[ret->nr++] = all->list[i];
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

/*
 * The dispersion that explains the mean of the logarithms, each of them being of a scaled F
 * distribution with the degrees of freedom of the runs and of the prior.
 */
static void fit_prior(struct significance *significance, enum significance_kind kind,
		      const struct tested *tested)
{
	double half = significance->df / 2.0, usual = digamma(half) - log(half), sum = 0;
	double df = prior_dfs[kind];

	if (tested->nr < 3)
		return;
	for (size_t i = 0; i < tested->nr; i++) {
		double value = dispersion(&significance->options, tested->list[i],
					  significance->variation, significance->df);

		sum += log(value > DISPERSION_MIN ? value : DISPERSION_MIN) - usual;
	}
	significance->prior[kind] = exp(sum / (double)tested->nr + digamma(df / 2) - log(df / 2));
	/* all functions together tell no more than they have seen */
	if (df > (double)(tested->nr - 1) * significance->df)
		df = (double)(tested->nr - 1) * significance->df;
	significance->prior_df[kind] = df;
}

void significance_fit(const struct significance_options *options,
		      const struct significance_list lists[SIGNIFICANCE_KINDS],
		      struct significance *ret)
{
	*ret = (struct significance){ .options = *options };
	for (enum significance_kind kind = 0; kind < SIGNIFICANCE_KINDS; kind++)
		ret->prior[kind] = 1;
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		if (options->runs[side])
			ret->df += (unsigned)(options->runs[side] - 1);
	if (!ret->df) {
		ret->assumed = true;
		ret->variation = SIGNIFICANCE_ASSUMED_VARIATION;
		return;
	}
	for (enum significance_kind kind = 0; kind < SIGNIFICANCE_KINDS; kind++) {
		CLEANUP(tested_fini) struct tested tested = { 0 };

		tested_init(&lists[kind], &tested);
		if (kind == SIGNIFICANCE_SELF)
			ret->variation = fit_variation(ret, &tested);
		fit_prior(ret, kind, &tested);
	}
}

double significance_degrees(const struct significance *significance, enum significance_kind kind)
{
	return significance->df ? significance->df + significance->prior_df[kind] : INFINITY;
}

double significance_quantile(const struct significance *significance, size_t nr_tests)
{
	double chance = SIGNIFICANCE_LEVEL / 2 / (double)(nr_tests ? nr_tests : 1);

	return student_quantile(chance, significance_degrees(significance, SIGNIFICANCE_OTHER));
}

/* Nine of ten normal variables are above their mean less this. */
static const double nine_of_ten = 1.2815515655446004;

/* Degrees of freedom of @runs runs a side. */
static double degrees_of(enum significance_kind kind, size_t runs)
{
	return runs > 1 ? 2.0 * ((double)runs - 1) + prior_dfs[kind] : INFINITY;
}

double significance_shows_of(const struct significance *significance, enum significance_kind kind,
			     double chance, double interval, size_t runs)
{
	const size_t *there = significance->options.runs;
	double error =
		interval / student_quantile(chance, significance_degrees(significance, kind));
	double inverse;

	if (!runs || !isfinite(interval))
		return interval + nine_of_ten * error;
	inverse = 1 / (double)there[DIFF_BEFORE] + 1 / (double)there[DIFF_AFTER];
	return (student_quantile(chance, degrees_of(kind, runs)) + nine_of_ten) * error *
	       sqrt(2 / (double)runs / inverse);
}

double significance_shows(const struct significance *significance,
			  const struct significance_typical *typical, double chance, size_t runs)
{
	double scale = significance->variation * (significance->options.shares
							  ? typical->mean * (1 - typical->mean)
							  : typical->mean);
	double prior = significance->prior[SIGNIFICANCE_SELF];
	double df = degrees_of(SIGNIFICANCE_SELF, runs);
	double variance = 2 / (double)runs * (typical->noise + scale * scale) *
			  fmax(prior, dispersion_floors[SIGNIFICANCE_SELF]);

	return (student_quantile(chance, df) + nine_of_ten) * sqrt(variance) / typical->mean;
}

/* The dispersion of one thing, in the light of all others. */
static double moderated(const struct significance *significance, enum significance_kind kind,
			const struct distribution *distribution)
{
	double own, value, prior_df = significance->prior_df[kind];

	if (!significance->df)
		return 1;
	own = dispersion(&significance->options, distribution, significance->variation,
			 significance->df);
	value = (prior_df * significance->prior[kind] + significance->df * own) /
		(prior_df + significance->df);
	return fmax(value, dispersion_floors[kind]);
}

static enum diff_verdict verdict_of(const struct distribution *distribution)
{
	if (!distribution->count[DIFF_BEFORE])
		return DIFF_NEW;
	return distribution->count[DIFF_AFTER] ? DIFF_REAL : DIFF_GONE;
}

void significance_judge(const struct significance *significance, enum significance_kind kind,
			double quantile, const struct distribution *distribution,
			struct diff_change *ret)
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
	ret->interval = quantile * sqrt(variance * moderated(significance, kind, distribution));
	if (significance_is_tested(distribution) && fabs(ret->change) > ret->interval)
		ret->verdict = verdict_of(distribution);
}
