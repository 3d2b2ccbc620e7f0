/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame-pointer walk of one stack, judged by the CFI walk of the same sample.
 *
 * C are the pcs of the CFI walk, F those of the frame-pointer walk, leaf first. Pcs are equal where
 * object and vaddr are, or the runtime address of code without an object; how a frame was found is
 * no part of it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "recording/verdict_class.h"

/* clang-format off */
/* Why a sample is not judged, besides the stops of bpf/shared.h. X(name, JSON key, text). Rows made for
 * code without CFI are no reason: the key of SYNTH_FRAME is there for scripts that sum up, always 0. */
#define VERDICT_REASON_LIST(X) \
	X(NO_USER_PART, no_user_part, "a task without a user part") \
	X(FP_FRAME,     fp_frame,     "the CFI walk had to take a frame-pointer step") \
	X(SYNTH_FRAME,  synth_frame,  "the CFI walk used a row made for code without CFI") \
	X(LEFT_OUT,     left_out,     "frames of the CFI walk were left out that would be needed")
/* clang-format on */

#define X(name, key, text) VERDICT_REASON_##name,
/* Numbered behind the stops, which are reasons too. */
enum verdict_reason {
	VERDICT_REASON_FIRST = FPL_STOP_COUNT - 1,
	VERDICT_REASON_LIST(X) VERDICT_REASON_COUNT
};
#undef X

struct verdict {
	enum verdict_class class;
	unsigned reason; /* UNJUDGED: enum fpl_stop or enum verdict_reason; else 0 */
	/* How many frames, from the leaf on, the walks have in common. WRONG, SKIP and CUT:
	 * C[nr_common] is the first that F lacks or gets wrong. */
	size_t nr_common;
	/* C[nr_followed - 1] is the frame whose rbp led F astray; 0: none did. nr_common, but where
	 * frames look alike, in a recursion: F may have left out an earlier one. The earliest. */
	size_t nr_followed;
};

/* @fp_max: frames F can have at most, of profile.fp_max. Cost: O(frames). */
struct verdict verdict_of(const struct profile_stack *stack, uint32_t fp_max);

/* The classes of all stacks of @profile, which has a second walk of each: the caller frees
 * the result [nr_stacks]. */
uint8_t *verdict_classes(const struct profile *profile);

/*
 * Index in C of the first frame that F lacks or gets wrong. Where F has all of C and goes on, it is
 * the outermost: F did not take it for the end. Only where the class is WRONG, SKIP or CUT.
 */
size_t verdict_parting(const struct profile_stack *stack, const struct verdict *verdict);

/* Keys of JSON and text. */
const char *verdict_reason_key(unsigned reason);
const char *verdict_reason_text(unsigned reason);
