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
 * were expected to, shrunk towards that of the others of its kind (Smyth 2004, "Linear models and
 * empirical Bayes methods", section 3), and never below a quarter, or 1, by kind. With one run a
 *side there is nothing to fit: the variation is an assumption then, and the dispersion 1.
 *
 * A change is real where it is beyond a Student-t quantile of its standard error, at an error rate
 * that all tests of a family share: in 95 of 100 diffs between equal sides nothing is called real.
 * Stacks and frames have equal parts of it (Bonferroni), functions more of it where it decides
 * (struct error_shares). The quantile times the standard error is the interval that is shown with
 * the change.
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

/* How much one thing is taken to vary as the others of its kind do. */
enum significance_kind {
	SIGNIFICANCE_SELF,  /* functions of programs by themselves: most do */
	SIGNIFICANCE_OTHER, /* the kernel's, functions with what they call, stacks: fewer do */
	SIGNIFICANCE_KINDS
};

/* The measure of the values. */
struct significance_options {
	enum diff_measure measure;
	bool shares;
	size_t runs[DIFF_SIDES];	 /* that have a value */
	double sample_noise[DIFF_SIDES]; /* sums over the runs of distribution_sample_noise() */
};

struct significance {
	struct significance_options options;
	unsigned df;	  /* runs beyond one a side: what tells how runs vary */
	double variation; /* relative, from run to run */
	bool assumed;	  /* the variation is */
	/* Dispersion of all functions of the kind, and the degrees of freedom that it is worth. */
	double prior[SIGNIFICANCE_KINDS], prior_df[SIGNIFICANCE_KINDS];
};

/* A mean over the runs of each side, and what to think of their difference. */
struct diff_change {
	double before, after, change; /* after - before */
	double interval;	      /* of the change, to either side; INFINITY: not known */
	enum diff_verdict verdict;
};

/* Distributions of one kind. */
struct significance_list {
	const struct distribution **list; /* [nr] */
	size_t nr;
};

/*
 * Learn from @lists, the distributions of all functions, how runs vary. Cost: O(n log n).
 */
void significance_fit(const struct significance_options *options,
		      const struct significance_list lists[SIGNIFICANCE_KINDS],
		      struct significance *ret);

/* Is it sampled often enough to be tested? */
bool significance_is_tested(const struct distribution *distribution);

/* Degrees of freedom of the dispersion of one thing: INFINITY without two runs on a side. */
double significance_degrees(const struct significance *significance, enum significance_kind kind);

/*
 * The quantile that changes of SIGNIFICANCE_OTHER are compared with where each of @nr_tests has an
 * equal part of the error rate.
 */
double significance_quantile(const struct significance *significance, size_t nr_tests);

void significance_judge(const struct significance *significance, enum significance_kind kind,
			double quantile, const struct distribution *distribution,
			struct diff_change *ret);

/*
 * Returns how many standard errors a change of @distribution by a fifth is, 0 where it is not
 * tested. It depends on sums over both sides alone, which tell nothing of the change between equal
 * sides (Bourgon, Gentleman and Huber 2010, "Independent filtering increases detection power").
 */
double significance_effect(const struct significance *significance,
			   const struct distribution *distribution);

/*
 * The parts of a family's error rate that its tests get: most of it goes where a change by a
 * fifth is found or missed by that (Roeder and Wasserman 2009, "Genome-wide significance levels and
 * weighted hypothesis testing", section 3), the rest to all in equal parts.
 */
struct error_shares {
	double cut;   /* the c of Roeder and Wasserman: all parts add up by it */
	double equal; /* the equal part of one tail */
	/* Student-t quantiles of chances in steps of an eighth of an octave; owned */
	double *quantiles[SIGNIFICANCE_KINDS];
};

/* One run's value of something, and the variance that it has because it was sampled. */
struct significance_typical {
	double mean, noise;
};

/*
 * The change of @typical, relative to itself, that @runs runs a side as these call real 9 times in
 * 10, with @chance for one tail. Of functions by themselves, which vary as most do.
 */
double significance_shows(const struct significance *significance,
			  const struct significance_typical *typical, double chance, size_t runs);

/*
 * The change that @runs runs a side, as unlike as those there are, call real 9 times in 10, where
 * the test with @chance for one tail has @interval by those there are. 0: by those there are.
 */
double significance_shows_of(const struct significance *significance, enum significance_kind kind,
			     double chance, double interval, size_t runs);

/* @effects [nr]: significance_effect() of all that are tested. Cost: O(nr), and a millisecond. */
void error_shares_make(const struct significance *significance, const double *effects, size_t nr,
		       struct error_shares *ret);
void error_shares_fini(struct error_shares *shares);

/*
 * The chance of one tail for what has @effect, and the quantile for it, rounded down to a step. The
 * effect need not have been among those that were shared.
 */
double error_shares_chance(const struct error_shares *shares, double effect);
double error_shares_quantile(const struct error_shares *shares, enum significance_kind kind,
			     double effect);
