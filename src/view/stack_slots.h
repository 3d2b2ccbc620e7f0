/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack from the root to the leaf, as slots of the texts of its frames (view/frame_texts.h): the
 * one walk over a stack's frames that texts, functions and steps of pictures are looked up by.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/vector.h"
#include "recording/recording.h"
#include "view/frame_texts.h"

/* Which user frames of a stack. */
enum merge_walk {
	MERGE_CFI, /* the user part of a stack */
	MERGE_FP,  /* the frame-pointer walk of the same samples */
};

/* In place of a slot: between user and kernel frames. */
#define STACK_DELIMITER UINT32_MAX

struct stack_slots {
	uint32_t *list; /* a vector */
	size_t nr, room;
	/* list[nr_own .. nr) are of who ended the wait of the stack that was appended last, the
	 * delimiter first (recording_waker_frames()); = nr: none are */
	size_t nr_own;
};

struct stack_slot_options {
	enum merge_walk walk;
	bool delimited; /* put STACK_DELIMITER between user and kernel frames of a stack with both
			 */
	bool own;	/* without the frames of who ended a wait (recording_waker_frames()) */
	size_t max;	/* end as soon as @ret holds more; 0: no limit */
};

/*
 * Append the slots of @stack to @ret: user frames, then kernel frames, what is inlined behind the
 * function it is inlined in. Where @texts fold recursion, neighbours that read the same are the
 * outermost of them; code of the kernel is never one with other code. Errors: -ENOMEM. Cost:
 * O(depth).
 */
FPL_MUST_CHECK int stack_slots(const struct frame_texts *texts, const struct recording_stack *stack,
			       const struct stack_slot_options *options, struct stack_slots *ret);
#define must_stack_slots(texts, stack, options, ret) \
	alloc_check(stack_slots(texts, stack, options, ret))
