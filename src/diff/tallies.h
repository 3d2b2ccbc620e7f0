/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each of many things was sampled in the runs of two sides. A thing takes 8 bytes as long
 * as no side has more than one run, samples have no weight and counts fit 32 bits; else all take a
 * distribution each, 232 bytes. What is told of them is the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "diff/distribution.h"

/* The runs that are counted, for all things together. */
struct tally_runs {
	bool shares;			    /* values are shares of a run */
	size_t nr[DIFF_SIDES];		    /* that are over */
	struct run_tally whole[DIFF_SIDES]; /* of the last of them; of the one under way, so far */
	bool open;			    /* one is under way, */
	enum diff_side side;		    /* of this side */
};

struct tallied {
	struct distribution distribution;
	struct run_tally run; /* under way */
};

struct tallies {
	uint32_t (*counts)[DIFF_SIDES]; /* owned [nr]; NULL: wide, or none yet */
	struct tallied *wide;		/* owned [nr]; NULL: not */
	size_t nr, room;
};

void tallies_fini(struct tallies *tallies);

/* One thing more, numbered nr. */
void tallies_grow(struct tallies *tallies);

/* A run of @side begins; it is not open in @runs yet. Errors: -EOVERFLOW. */
FPL_MUST_CHECK int tallies_begin_run(struct tallies *tallies, const struct tally_runs *runs,
				     enum diff_side side);

/* Count samples of thing @idx in the open run, as run_tally_add() does. Errors: -EOVERFLOW. */
FPL_MUST_CHECK int tallies_add(struct tallies *tallies, const struct tally_runs *runs, size_t idx,
			       uint64_t count, uint64_t weight, double squares);

/* The open run is over, and its whole is known. Errors: -EOVERFLOW. */
FPL_MUST_CHECK int tallies_end_run(struct tallies *tallies, const struct tally_runs *runs);

/* The distribution of thing @idx, no run being open: in @buf or owned by @tallies. */
const struct distribution *tallies_get(const struct tallies *tallies, const struct tally_runs *runs,
				       size_t idx, struct distribution *buf);

/* Its samples of @side, no run being open. */
static inline uint64_t tallies_count(const struct tallies *tallies, size_t idx, enum diff_side side)
{
	return tallies->wide ? tallies->wide[idx].distribution.count[side]
			     : tallies->counts[idx][side];
}

/* Its weight of @side, no run being open: 0, unless tallies are wide. */
static inline uint64_t tallies_weight(const struct tallies *tallies, size_t idx,
				      enum diff_side side)
{
	return tallies->wide ? tallies->wide[idx].distribution.weight[side] : 0;
}
