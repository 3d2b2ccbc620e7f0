/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of --stats, of the .jsonl books and of the closing report, summed from the stacks. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"
#include "recording/recording.h"

struct tally {
	uint64_t user_samples;		/* of tasks that have a user part */
	uint64_t stops[FPL_STOP_COUNT]; /* sum: user_samples; all 0 where no user stacks were asked
					   for */
	uint64_t complete;		/* stopped at the outermost frame */
	uint64_t frames;		/* user frames, once per sample */
	uint64_t frames_by_origin[FPL_ORIGIN_COUNT]; /* sum: frames */
	uint64_t lost;				     /* sum over the reasons */
	uint64_t weight_ns; /* of all stacks: the CPU time that was profiled */
};

void tally_count(const struct profile *profile, struct tally *ret);

/* Samples that could be complete: user_samples without exiting and execing. */
uint64_t tally_judged(const struct tally *tally);

/* True where fired = shown + idle + filtered + lost. */
bool tally_books_close(const struct profile *profile, const struct tally *tally, uint64_t shown);

/* 100 * part / whole, 0 of nothing; never rounds up to 100: 100 % has to mean all of them. */
double tally_percent(uint64_t part, uint64_t whole);

/* The same as it is, for shares that nobody takes for a verdict. */
static inline double share_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/*
 * Add the numbers of --stats to @recording, in the order of the documentation. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int tally_add_numbers(struct recording *recording, const struct profile *profile);

/* Key of a reason in JSON, as in the X-lists of bpf/shared.h. */
const char *tally_stop_key(enum fpl_stop stop);
const char *tally_lost_key(enum fpl_lost lost);
const char *tally_origin_key(enum fpl_origin origin);
