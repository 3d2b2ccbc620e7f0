/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/wait_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "profile/stack_store.h"

int wait_links_resolve(struct stack_store *store)
{
	AUTO_FREE uint32_t *places = NULL;

	if (stack_store_places(store, &places))
		return -ENOMEM;
	for (uint32_t i = 0; i < stack_store_nr(store); i++) {
		struct profile_stack stack;
		uint32_t *links, waker;

		stack_store_look(store, i, &stack);
		links = profile_stack_links(&stack);
		for (size_t j = 0; links && j < FPL_LINKS_MAX; j++) {
			if (!fpl_link_is_stack(links[j]))
				continue;
			waker = stack_store_find(store, links[j]);
			links[j] = waker == STACK_STORE_NONE || places[waker] >= FPL_LINK_END - 1
					   ? FPL_LINK_LOST
					   : 1 + places[waker];
		}
	}
	return 0;
}

/* From places among all stacks to places among the wakers. @numbers [nr]: 1 + that of each; 0: it
 * is no waker. */
static void renumber(uint32_t links[static FPL_LINKS_MAX], const uint32_t *numbers, size_t nr)
{
	for (size_t i = 0; i < FPL_LINKS_MAX; i++) {
		if (!fpl_link_is_stack(links[i]))
			continue;
		links[i] = links[i] <= nr ? numbers[links[i] - 1] : 0;
		if (!links[i])
			links[i] = FPL_LINK_LOST;
	}
}

/* Move the wakers to a list of their own. */
static void part(struct profile *profile, const uint32_t *numbers)
{
	size_t nr = profile->nr_stacks;

	profile->nr_stacks = 0;
	for (size_t i = 0; i < nr; i++) {
		struct profile_stack stack = profile->stacks[i];
		uint32_t *links = profile_stack_links(&stack);

		if (numbers[i]) {
			profile->wakers[profile->nr_wakers++] = stack;
			profile->books.fired -= stack.count;
			continue;
		}
		if (links)
			renumber(links, numbers, nr);
		profile->stacks[profile->nr_stacks++] = stack;
	}
}

/* Give @stack the stack of its first link, which it does not lead to any more. */
static int join(const struct profile *profile, struct profile_stack *stack)
{
	uint32_t *links = profile_stack_links(stack);
	const struct profile_stack *own = links ? profile_waker(profile, links[0]) : NULL;
	size_t nr = own ? (size_t)own->nr_user + own->nr_kernel : 0;
	uint64_t *frames;

	if (!links)
		return 0;
	memmove(links, links + 1, (FPL_LINKS_MAX - 1) * sizeof(*links));
	links[FPL_LINKS_MAX - 1] = 0;
	if (!own || stack->nr_user || stack->nr_kernel)
		return 0;
	frames = calloc(nr + stack->nr_key, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	memcpy(frames, own->frames, nr * sizeof(*frames));
	memcpy(frames + nr, stack->frames, stack->nr_key * sizeof(*frames));
	free(stack->frames);
	stack->frames = frames;
	stack->nr_user = own->nr_user;
	stack->nr_kernel = own->nr_kernel;
	stack->flags |= own->flags & FPL_SAMPLE_KTHREAD;
	stack->stop = own->stop;
	stack->elided = own->elided;
	stack->gen = own->gen;
	stack->first_ns = own->first_ns;
	return 0;
}

int wait_links_take(struct profile *profile, bool has_own)
{
	AUTO_FREE uint32_t *numbers = calloc(profile->nr_stacks + 1, sizeof(*numbers));
	uint32_t nr_wakers = 0;
	int code = 0;

	for (size_t i = 0; numbers && i < profile->nr_stacks; i++)
		if (profile->stacks[i].flags & FPL_SAMPLE_WAKER)
			numbers[i] = ++nr_wakers;
	profile->wakers = calloc(nr_wakers + 1, sizeof(*profile->wakers));
	if (!numbers || !profile->wakers)
		return -ENOMEM;
	part(profile, numbers);
	for (size_t i = 0; !code && has_own && i < profile->nr_stacks; i++)
		code = join(profile, &profile->stacks[i]);
	profile->nr_links -= has_own;
	return code;
}
