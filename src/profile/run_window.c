/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/run_window.h"

#include <errno.h>

int run_window_init(struct run_window *window, uint64_t store_bytes, unsigned by,
		    uint64_t timeline_memory, bool has_times, timeline_fn listener, void *ctx)
{
	int code = stack_store_create(store_bytes, &window->store);

	if (code)
		return code;
	stack_store_separate(window->store, by);
	timeline_init(&window->timeline, window->store, timeline_memory, listener, ctx);
	window->intake = (struct intake){ .store = window->store,
					  .timeline = has_times ? &window->timeline : NULL };
	return 0;
}

void run_window_fini(struct run_window *window)
{
	stack_store_destroy(window->store);
	script_codes_put(window->codes);
	timeline_fini(&window->timeline);
	vector_fini(&window->counts);
	lock_sums_fini(&window->locks);
	thread_sums_fini(&window->threads);
	*window = (struct run_window){ 0 };
}

void run_window_begin(struct run_window *window, const struct run_window *before, uint64_t start_ns,
		      uint64_t unix_ns)
{
	uint64_t least_ns =
		before ? before->start_unix_ns + (before->end_ns - before->start_ns) : 0;

	window->intake = (struct intake){ .store = window->store,
					  .timeline = window->intake.timeline,
					  .codes = window->codes };
	/* where its books could not be closed */
	stack_store_clear(window->store);
	window->timeline.nr = window->timeline.nr_waiting = 0;
	window->counts.nr = 0;
	window->nr_uncopied = 0;
	window->start_ns = start_ns;
	window->end_ns = 0;
	window->number = before ? before->number + 1 : 0;
	window->gap_ns = 0;
	window->has_asked_code = false;
	window->ahead_ns = least_ns > unix_ns ? least_ns - unix_ns : 0;
	window->start_unix_ns = unix_ns + window->ahead_ns;
	window->timeline.start_ns = start_ns;
	window->timeline.nr_beyond = 0;
}

void run_window_count(const struct fpl_stack *stack, void *ctx)
{
	struct run_window *window = ctx;

	if (vector_push(&window->counts, {
						 .count = stack->count,
						 .weight = stack->weight,
						 .objects = stack->objects,
						 .id = stack->id,
						 .elided = stack->elided,
						 .squares_low = stack->squares_low,
					 }))
		window->nr_uncopied += stack->count;
}
