/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two walks of one user stack beside each other, frame by frame: what the frame-pointer walk lacks
 * of the CFI walk, and what it has instead.
 */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

/* clang-format off */
/* X(name, key) */
#define WALK_MARK_LIST(X) \
	X(LOST,  lost)  /* of the CFI walk: the other lacks the frame */ \
	X(WRONG, wrong) /* of the frame-pointer walk: not on the stack, or not there */ \
	X(GAP,   gap)   /* its caller was left out */ \
	X(CUT,   cut)   /* the walk ends in it, before the stack does */
/* clang-format on */

#define X(name, key) WALK_MARK_##name,
enum walk_mark { WALK_MARK_LIST(X) WALK_MARK_COUNT, WALK_MARK_NONE = WALK_MARK_COUNT };
#undef X

/*
 * Mark the frames of @stack, leaf first: @ret_cfi [nr_user] and @ret_fp [nr_fp], enum walk_mark.
 * Where the walks agree, or there is nothing to judge the other one by, no frame is marked. Frames
 * are the same where their code is, as for the class of the stack; of frames that look alike, as
 * in a recursion, the first are taken for the same. Cost: O(nr_user x frames that are wrong).
 */
void walk_pair_mark(const struct recording *recording, const struct recording_stack *stack,
		    uint8_t *ret_cfi, uint8_t *ret_fp);
