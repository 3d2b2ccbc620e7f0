/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a change more than noise? docs/decisions/0015-diff-noise.md says why it is decided this way.
 *
 * The variance of one run's value is taken to be
 *
 *	(noise + variation^2 * g^2) * dispersion
 *
 * noise being that of sampling (distribution.h) and g the value itself, or p (1 - p) of a share p.
 * The variation, which all functions have in common, is fitted so that the runs of a side differ as
 * much as it says. The dispersion is the function's own: what its runs differ by over what they
 * were expected to, shrunk towards that of the others by as much as the others agree (Smyth 2004,
 * "Linear models and empirical Bayes methods", section 6.2), and never below 1. With one run a side
 * there is nothing to fit: the variation is an assumption then, and the dispersion 1.
 *
 * A change is real where it is beyond a Student-t quantile of its standard error, at an error rate
 * that all tests of a family share (Bonferroni): in 95 of 100 diffs between equal sides nothing is
 * called real. The quantile times the standard error is the interval that is shown with the change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diff/distribution.h"

#define SIGNIFICANCE_LEVEL 0.05
/* The fewest samples of both sides that are tested: fewer are noise in any case. */
#define SIGNIFICANCE_SAMPLES_MIN 12u
/* How much runs are taken to vary where there is only one a side. */
#define SIGNIFICANCE_ASSUMED_VARIATION 0.05

#define DIFF_VERDICT_LIST(X)                          \
	X(NOISE, noise, "may be chance")              \
	X(REAL, real, "more than chance")             \
	X(NEW, new, "real, and was not there before") \
	X(GONE, gone, "real, and is not there after")

enum diff_verdict {
#define X(name, key, text) DIFF_##name,
	DIFF_VERDICT_LIST(X)
#undef X
		DIFF_VERDICT_COUNT
};

const char *diff_verdict_key(enum diff_verdict verdict);

/* The measure of the values. */
struct significance_options {
	enum diff_measure measure;
	bool shares;
	size_t runs[DIFF_SIDES];	 /* that have a value */
	double sample_noise[DIFF_SIDES]; /* sums over the runs of distribution_sample_noise() */
};

struct significance {
	struct significance_options options;
	unsigned df;		/* runs beyond one a side: what tells how runs vary */
	double variation;	/* relative, from run to run */
	bool assumed;		/* the variation is */
	double prior, prior_df; /* dispersion of all functions, and what that is worth */
};

/* A mean over the runs of each side, and what to think of their difference. */
struct diff_change {
	double before, after, change; /* after - before */
	double interval;	      /* of the change, to either side; INFINITY: not known */
	enum diff_verdict verdict;
};

/*
 * Learn from @list [nr], the distributions of all functions, how runs vary. Cost: O(nr log nr).
 */
void significance_fit(const struct significance_options *options,
		      const struct distribution *const *list, size_t nr, struct significance *ret);

/* Is it sampled often enough to be tested? */
bool significance_is_tested(const struct distribution *distribution);

/*
 * The quantile that @ret->change is compared with. It depends on the degrees of freedom, which are
 * the same for all. @nr_tests: of the family.
 */
double significance_quantile(const struct significance *significance, size_t nr_tests);

void significance_judge(const struct significance *significance, double quantile,
			const struct distribution *distribution, struct diff_change *ret);
