/* SPDX-License-Identifier: Apache-2.0 */
/* The script frames of a profile, and how the chains of them ended: their books. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "profile/script_codes.h"
#include "recording/recording.h"

struct script_tally {
	uint64_t named, unnamed;	    /* script frames, once per sample */
	uint64_t why[SCRIPT_UNNAMED_COUNT]; /* of the latter: all of them */
	struct script_stats stats;
};

/* All 0 where no interpreter was met. Cost: O(frames). */
void script_tally_count(const struct profile *profile, struct script_tally *ret);

/* Add it to the numbers of @to; nothing where no interpreter was met. */
void script_tally_add(struct recording *to, const struct profile *profile);

/* Write it for the closing report, @frames: all user frames; likewise. */
void script_tally_write(FILE *to, const struct profile *profile, uint64_t frames);
