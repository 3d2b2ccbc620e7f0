/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines about a run, for a user in a hurry: what happened, what it cost, what to do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "report/tally.h"

/* Samples whose leaf has no name, which a debug package would give it. */
struct summary_unnamed {
	uint64_t samples, of; /* of all samples of the recording */
	const char *path;     /* borrowed: the object that has most of them; NULL: none */
	const char *hint;     /* borrowed: the command that helps; "" or NULL: not known */
};

/* Is that worth a line? */
bool summary_tells(const struct summary_unnamed *unnamed);

struct summary {
	const struct profile *profile; /* borrowed, as all below */
	uint64_t shown;		       /* samples that a writer wrote */
	const char *const *outputs;    /* [nr_outputs]: files that were written */
	size_t nr_outputs;
	struct summary_unnamed unnamed;
};

/*
 * At most four lines: samples and how complete, the outputs, the cost, and names that are missing.
 * No share is told of less than 0.1 s: counts then.
 */
void summary_write(FILE *to, const struct summary *summary, const struct tally *tally);
