/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of --stats, of the .jsonl books and of the closing report, summed from the stacks. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"
#include "recording/recording.h"

struct tally {
	uint64_t user_samples;		/* of tasks that have a user part */
	uint64_t stops[FPL_STOP_COUNT]; /* sum: user_samples; all 0 if user stacks were not
					   requested */
	uint64_t complete;		/* stopped at the outermost frame */
	uint64_t frames;		/* user frames that are kept, once per sample */
	uint64_t elided_samples;	/* samples with frames left out */
	uint64_t elided_most;		/* most frames left out of one of them */
	uint64_t frames_by_origin[FPL_ORIGIN_COUNT]; /* sum: frames */
	/* user_samples with at least one such frame; several origins may count one sample */
	uint64_t samples_by_origin[FPL_ORIGIN_COUNT];
	uint64_t lost;	 /* sum over the reasons */
	uint64_t weight; /* sum over all stacks: the CPU time that was profiled */
};

void tally_count(const struct profile *profile, struct tally *ret);

/* Samples that could be complete: user_samples without exiting and execing. */
uint64_t tally_judged(const struct tally *tally);

/* Is fired = shown + idle + filtered + lost? */
bool tally_books_close(const struct profile *profile, const struct tally *tally, uint64_t shown);

/* Add the numbers of --stats to @to, in the order of the documentation. */
void tally_add_numbers(struct recording *to, const struct profile *profile);
