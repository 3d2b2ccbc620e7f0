/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/books.h"

void books_count(const struct window_count *stack, struct books_join *join)
{
	if (stack_store_count(join->store, stack->id, stack->count, stack->weight, stack->elided))
		join->nr_without_frames += stack->count;
	if (join->has_squares)
		stack_store_squares(join->store, stack->id,
				    (double)stack->objects * 0x1p32 + stack->squares_low);
	else if (stack->objects)
		stack_store_objects(join->store, stack->id, stack->objects);
}

void books_close(const struct fpl_counters *counters, uint64_t user_memory, uint64_t without_frames,
		 bool stack_dropped, struct profile_books *ret)
{
	*ret = (struct profile_books){
		.fired = counters->fired,
		.idle = counters->idle,
		.filtered = counters->filtered,
		.bpf_ns = counters->bpf_ns,
		.sample_ns = counters->sample_ns,
		.uretprobe_samples = counters->uretprobes,
		.texts_unread = counters->texts_unread,
	};
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		ret->lost[i] = counters->lost[i];
	ret->lost[FPL_LOST_USER_MEMORY] += user_memory;
	ret->lost[stack_dropped ? FPL_LOST_USER_MEMORY : FPL_LOST_NO_FRAMES] += without_frames;
}

int64_t books_gap(const struct profile_books *books, uint64_t shown)
{
	uint64_t named = shown + books->idle + books->filtered;

	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		named += books->lost[i];
	return (int64_t)(books->fired - named);
}
