/* SPDX-License-Identifier: Apache-2.0 */
#include "view/stack_slots.h"

#include <errno.h>

/* Put the slots of frames @frames [nr], which are leaf first. */
static int put_frames(const struct frame_texts *texts, const uint32_t *frames, size_t nr,
		      const struct stack_slot_options *options, struct stack_slots *ret)
{
	size_t max = options->max ? options->max : SIZE_MAX, first = ret->nr;
	bool fold = texts->options.fold_recursion;

	while (nr-- > 0 && ret->nr <= max) {
		uint32_t nr_slots, slot = frame_slots(texts, frames[nr], &nr_slots);

		if (vector_reserve(ret, ret->nr + nr_slots))
			return -ENOMEM;
		while (nr_slots-- > 0)
			if (!fold || ret->nr == first ||
			    texts->ids[ret->list[ret->nr - 1]] != texts->ids[slot + nr_slots])
				ret->list[ret->nr++] = slot + nr_slots;
	}
	return 0;
}

int stack_slots(const struct frame_texts *texts, const struct recording_stack *stack,
		const struct stack_slot_options *options, struct stack_slots *ret)
{
	const uint32_t *user = &texts->recording->frame_ids[stack->first_frame];
	const uint32_t *kernel = user + stack->nr_user;
	size_t nr_user = stack->nr_user;

	if (options->walk == MERGE_FP) {
		user = kernel + stack->nr_kernel;
		nr_user = stack->nr_fp;
	}
	if (put_frames(texts, user, nr_user, options, ret) ||
	    (options->delimited && nr_user && stack->nr_kernel &&
	     vector_push(ret, STACK_DELIMITER)))
		return -ENOMEM;
	return put_frames(texts, kernel, stack->nr_kernel, options, ret);
}
