/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines about a run, for a user in a hurry: what happened, what it cost, what to do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "report/tally.h"

/* A share of less time than this says nothing. */
#define SUMMARY_SHARE_NS 100000000u
/* The same of fewer samples, where the source is no clock. */
#define SUMMARY_SHARE_EVENTS 10u

/* @number with a comma between thousands. */
void summary_write_number(FILE *to, uint64_t number);

/*
 * Write ", 99.5 % complete": @complete of @judged user stacks, in counts unless @shares. Less than
 * all is never 100 %.
 */
void summary_write_complete(FILE *to, uint64_t complete, uint64_t judged, bool shares);

/* Write ", 12 lost". */
void summary_write_lost(FILE *to, uint64_t lost);

/* The line with the files that were written; nothing without any. */
void summary_write_outputs(FILE *to, const char *const *outputs, size_t nr);

/* Samples whose leaf has no name, which a debug package would give it. */
struct summary_unnamed {
	uint64_t samples, of; /* of all samples of the recording */
	const char *path;     /* borrowed: the object that has most of them; NULL: none */
	const char *hint;     /* borrowed: the command that helps; "" or NULL: not known */
};

/* Is that worth a line? */
bool summary_tells(const struct summary_unnamed *unnamed);

/* The line about them, where that is so. */
void summary_write_unnamed(FILE *to, const struct summary_unnamed *unnamed);

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
