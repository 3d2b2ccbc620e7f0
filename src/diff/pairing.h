/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and stacks of two sides, each of several runs, paired by what readers see of them:
 * text and, of functions, the last part of the object's path. A program that was built anew, or
 * installed elsewhere, has the same functions. Keeps no recording: what is distinct in all of them
 * together is what it takes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strings.h"
#include "base/vector.h"
#include "diff/distribution.h"
#include "diff/tallies.h"
#include "recording/recording.h"
#include "view/frame_texts.h"
#include "view/functions.h"
#include "view/measure.h"
#include "view/sequences.h"

/* The sums over all runs of a side. */
struct paired_side {
	size_t nr_runs, nr_empty; /* empty ones are runs, too */
	uint64_t duration_ns;
	bool weightless; /* there are samples without a weight */
	/* Sums over the runs of distribution_sample_noise(). */
	double noise[DIFF_MEASURES], share_noise[DIFF_MEASURES];
};

struct pairing_options {
	struct frame_text_options text;
	bool delimited; /* "-" between user and kernel frames */
	bool strip_hex; /* 0x1f in texts is 0x... */
	/* The fields that two equal steps share. By FUNCTIONS_BY_TEXT, as lines of folded stacks,
	 * functions are not counted. */
	enum functions_by by;
	bool shares; /* values are shares of a run */
};

struct pairing {
	struct pairing_options options;
	struct strings strings;
	/* Steps of stacks. A place is a text, escaped, "-": not known; of labels it is 0. */
	struct functions items;
	struct sequences stacks; /* of items */
	/* Counts of each item: it was running, it was in the stack; and of each stack. */
	struct tallies self, total, samples;
	struct tally_runs runs;
	struct distribution whole; /* of what was counted, never of shares */
	struct paired_side sides[DIFF_SIDES];
	struct measure measure; /* of all recordings alike: what readers are shown */

	/* private */
	VECTOR(uint32_t)
	last_stacks;	     /* number of the stack that counted each item last in the run:
			      * recursion counts once */
	uint32_t nr_counted; /* stacks of the run under way */
};

void pairing_init(struct pairing *pairing, const struct pairing_options *options);
void pairing_fini(struct pairing *pairing);

/* The number that readers are shown of @whole, or of one of the tallies. */
static inline uint64_t pairing_shown(const struct pairing *pairing,
				     const struct distribution *distribution, enum diff_side side)
{
	return measure_of(&pairing->measure, distribution->count[side], distribution->weight[side]);
}

/*
 * Add a part of a run of @side; @recording may go afterwards. A stack that weighs something is in
 * one part alone, or its noise is that of two stacks. Errors: -EOVERFLOW counts beyond 64 bits.
 * Cost: O(frames of all stacks + what is paired so far).
 */
FPL_MUST_CHECK int pairing_add_part(struct pairing *pairing, const struct recording *recording,
				    enum diff_side side, struct fpl_err *err);

/* The run is over; it may have had no part. Errors: -EOVERFLOW. */
FPL_MUST_CHECK int pairing_end_run(struct pairing *pairing, enum diff_side side,
				   struct fpl_err *err);

/* All runs are added: drop what finds equals. Nothing may be added any more. */
void pairing_settle(struct pairing *pairing);

static inline const char *pairing_text(const struct pairing *pairing, uint32_t text)
{
	return strings_text(&pairing->strings, text);
}
