/* SPDX-License-Identifier: Apache-2.0 */
#include "top/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		window->sums[slice->gains[i].stack] -= slice->gains[i].count;
	window->first = slice->next;
	if (!window->first)
		window->last = &window->first;
	free(slice);
}

void window_fini(struct window *window)
{
	while (window->first)
		drop_first(window);
	free(window->seen);
	free(window->base);
	free(window->sums);
	*window = (struct window){ 0 };
}

static int grow(uint64_t **array, size_t room)
{
	uint64_t *bigger = reallocarray(*array, room, sizeof(**array));

	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	return 0;
}

/* Stacks that are new have counted nothing so far. */
static int make_room(struct window *window, size_t nr)
{
	size_t room = window->room ? window->room : 256;

	while (room < nr)
		room *= 2;
	if (room > window->room &&
	    (grow(&window->seen, room) || grow(&window->base, room) || grow(&window->sums, room)))
		return -ENOMEM;
	window->room = room;
	for (; window->nr < nr; window->nr++)
		window->seen[window->nr] = window->base[window->nr] = window->sums[window->nr] = 0;
	return 0;
}

int window_add(struct window *window, uint64_t end_ns, const uint64_t *counts, size_t nr)
{
	struct window_slice *slice;
	size_t nr_gains = 0;

	if (make_room(window, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		nr_gains += counts[i] != window->seen[i];
	slice = malloc(sizeof(*slice) + nr_gains * sizeof(slice->gains[0]));
	if (!slice)
		return -ENOMEM;
	*slice = (struct window_slice){ .begin_ns = window->end_ns, .end_ns = end_ns };
	for (size_t i = 0; i < nr; i++) {
		uint64_t gain = counts[i] - window->seen[i];

		if (!gain)
			continue;
		slice->gains[slice->nr++] = (struct gain){ (uint32_t)i, gain };
		window->sums[i] += gain;
		window->seen[i] = counts[i];
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
	if (window->nr)
		memcpy(window->base, window->seen, window->nr * sizeof(*window->base));
	window->begin_ns = window->end_ns;
}

uint64_t window_count(const struct window *window, size_t idx, bool since_start)
{
	if (idx >= window->nr)
		return 0;
	return since_start ? window->seen[idx] - window->base[idx] : window->sums[idx];
}

uint64_t window_length_ns(const struct window *window, bool since_start)
{
	if (since_start)
		return window->end_ns - window->begin_ns;
	return window->first ? window->end_ns - window->first->begin_ns : 0;
}
