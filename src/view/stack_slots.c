/* SPDX-License-Identifier: Apache-2.0 */
#include "view/stack_slots.h"

#include <errno.h>

/* Does one of two neighbours in a list have kernel code, the other user code? Only below a waker's
 * stack, or in it. */
static bool is_between(const struct recording *recording, uint32_t outer, uint32_t inner)
{
	const struct recording_frame *a = &recording->frames[outer];
	const struct recording_frame *b = &recording->frames[inner];

	return a->kind != b->kind && a->object && b->object;
}

/* Put the slots of frames @frames [nr], which are leaf first. */
static int put_frames(const struct frame_texts *texts, const uint32_t *frames, size_t nr,
		      const struct stack_slot_options *options, struct stack_slots *ret)
{
	size_t max = options->max ? options->max : SIZE_MAX, first = ret->nr;
	bool fold = texts->options.fold_recursion;

	for (size_t nr_left = nr; nr_left-- > 0 && ret->nr <= max;) {
		uint32_t nr_slots, slot = frame_slots(texts, frames[nr_left], &nr_slots);

		if (vector_reserve(ret, ret->nr + nr_slots + 1))
			return -ENOMEM;
		if (options->delimited && nr_left + 1 < nr &&
		    is_between(texts->recording, frames[nr_left + 1], frames[nr_left]))
			ret->list[ret->nr++] = STACK_DELIMITER;
		while (nr_slots-- > 0)
			if (!fold || ret->nr == first ||
			    ret->list[ret->nr - 1] == STACK_DELIMITER ||
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
	size_t nr_user = stack->nr_user, nr_wakers = 0;

	if (options->walk == MERGE_FP) {
		user = kernel + stack->nr_kernel;
		nr_user = stack->nr_fp;
	} else {
		nr_wakers = recording_waker_frames(texts->recording, stack);
	}
	if (put_frames(texts, user + nr_wakers, nr_user - nr_wakers, options, ret))
		return -ENOMEM;
	ret->nr_own = ret->nr;
	if (options->own)
		nr_user -= nr_wakers;
	else if (put_frames(texts, user, nr_wakers, options, ret))
		return -ENOMEM;
	if ((options->delimited && nr_user && stack->nr_kernel &&
	     vector_push(ret, STACK_DELIMITER)) ||
	    put_frames(texts, kernel, stack->nr_kernel, options, ret))
		return -ENOMEM;
	if (!nr_wakers || options->own)
		ret->nr_own = ret->nr;
	return 0;
}
