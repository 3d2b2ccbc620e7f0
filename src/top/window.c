/* SPDX-License-Identifier: Apache-2.0 */
#include "top/window.h"

#include <errno.h>
#include <stdlib.h>

struct gain {
	uint32_t stack;
	uint64_t count;
};

/* The counts that came between two looks. */
struct window_slice {
	struct window_slice *next;
	uint64_t begin_ns, end_ns;
	size_t nr;
	struct gain gains[];
};

void window_init(struct window *window, uint64_t span_ns)
{
	*window = (struct window){ .span_ns = span_ns };
	window->last = &window->first;
}

static void drop_first(struct window *window)
{
	struct window_slice *slice = window->first;

	for (size_t i = 0; i < slice->nr; i++)
		window->stacks.list[slice->gains[i].stack].sum -= slice->gains[i].count;
	window->first = slice->next;
	if (!window->first)
		window->last = &window->first;
	free(slice);
}

void window_fini(struct window *window)
{
	while (window->first)
		drop_first(window);
	vector_fini(&window->stacks);
	*window = (struct window){ 0 };
}

int window_add(struct window *window, uint64_t end_ns, const uint64_t *counts, size_t nr)
{
	struct window_stack *stacks;
	struct window_slice *slice;
	size_t nr_gains = 0;

	/* stacks that are new have counted nothing so far */
	while (window->stacks.nr < nr)
		if (vector_push(&window->stacks, { 0 }))
			return -ENOMEM;
	stacks = window->stacks.list;
	for (size_t i = 0; i < nr; i++)
		nr_gains += counts[i] != stacks[i].seen;
	slice = malloc(sizeof(*slice) + nr_gains * sizeof(slice->gains[0]));
	if (!slice)
		return -ENOMEM;
	*slice = (struct window_slice){ .begin_ns = window->end_ns, .end_ns = end_ns };
	for (size_t i = 0; i < nr; i++) {
		uint64_t gain = counts[i] - stacks[i].seen;

		if (!gain)
			continue;
		slice->gains[slice->nr++] = (struct gain){ (uint32_t)i, gain };
		stacks[i].sum += gain;
		stacks[i].seen = counts[i];
	}
	*window->last = slice;
	window->last = &slice->next;
	window->end_ns = end_ns;
	while (window->first != slice && window->first->end_ns + window->span_ns <= end_ns)
		drop_first(window);
	return 0;
}

void window_reset(struct window *window)
{
	while (window->first)
		drop_first(window);
	for (size_t i = 0; i < window->stacks.nr; i++)
		window->stacks.list[i].base = window->stacks.list[i].seen;
	window->begin_ns = window->end_ns;
}

uint64_t window_count(const struct window *window, size_t idx, bool since_start)
{
	const struct window_stack *stack;

	if (idx >= window->stacks.nr)
		return 0;
	stack = &window->stacks.list[idx];
	return since_start ? stack->seen - stack->base : stack->sum;
}

uint64_t window_length_ns(const struct window *window, bool since_start)
{
	if (since_start)
		return window->end_ns - window->begin_ns;
	return window->first ? window->end_ns - window->first->begin_ns : 0;
}
