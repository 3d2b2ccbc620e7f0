/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often something was sampled in the runs of two sides: enough of each run for means, for the
 * spread between runs and for the noise of sampling, without keeping the runs.
 *
 * A run's value is what was measured, samples or CPU time, or its share of all of the run. Beside
 * it stands the noise: the variance that the value has because it was sampled. Of independent
 * samples of weights w that is the sum of their squares A (Poisson); of a share p of a total W
 * whose squares add up to B, by the first-order expansion of a ratio, ((1 - 2p) A + p^2 B) / W^2,
 * which for equal weights is p (1 - p) / n.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

enum diff_measure { DIFF_SAMPLES, DIFF_WEIGHT, DIFF_MEASURES };

/* The counts of one thing in one run. */
struct run_tally {
	uint64_t count, weight;
	double squares; /* sum of the squares of the samples' weights */
};

/* A sum over the runs of a side. */
struct spread {
	double sum, squares; /* of the values, and of their squares */
	double noise;
};

struct distribution {
	uint64_t count[DIFF_SIDES], weight[DIFF_SIDES];
	struct spread of[DIFF_MEASURES][DIFF_SIDES];
};

/* Count @count samples of together @weight, the squares of whose weights add up to @squares.
 * Errors: -EOVERFLOW. */
FPL_MUST_CHECK int run_tally_add(struct run_tally *tally, uint64_t count, uint64_t weight,
				 double squares);

/*
 * The run is over: take what @tally counted of it, of @whole in all, into @distribution, and clear
 * @tally. @shares: values are shares of the run. Errors: -EOVERFLOW.
 */
FPL_MUST_CHECK int distribution_take(struct distribution *distribution, enum diff_side side,
				     struct run_tally *tally, const struct run_tally *whole,
				     bool shares);

/* The noise of a thing of which a run of @whole has one average sample. */
double distribution_sample_noise(const struct run_tally *whole, enum diff_measure measure,
				 bool shares);
