/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest functions of a recording. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"
#include "view/function_tally.h"

struct hottest {
	struct measure measure;
	struct frame_texts texts;
	struct function_index index;
	struct function_tallies tallies; /* [function] */
	uint32_t *list; /* owned [nr]: functions, the hottest by samples of their own first */
	size_t nr;
	uint64_t sum; /* of all stacks */
};

/* Find @max at most. @recording is borrowed. *ret must not move. Cost: O(frames of all stacks). */
void hottest_init(const struct recording *recording, size_t max, struct hottest *ret);
void hottest_fini(struct hottest *hottest);
