/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of a recording that its quality is told by: as tally.h, which has those of a run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recording/recording.h"

/* Samples lost, as far as the files tell. */
struct recording_losses {
	uint64_t by_reason[FPL_LOST_COUNT];
	uint64_t sum; /* also for reasons that are not known here */
	bool told;
};

/* Cost: O(numbers). */
void recording_losses_count(const struct recording *recording, struct recording_losses *ret);

/* Counts of the user stacks: by stop, and by origin of a frame they have. */
struct recording_tally {
	uint64_t stops[FPL_STOP_COUNT], by_origin[FPL_ORIGIN_COUNT];
	uint64_t nr, told; /* all; those with a stop, which other tools do not write */
	uint64_t judged;   /* of them, those that could be complete */
};

/* Cost: O(frames of all stacks). */
void recording_tally_count(const struct recording *recording, struct recording_tally *ret);
