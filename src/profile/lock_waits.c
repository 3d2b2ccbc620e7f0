/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/lock_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "profile/kernel_side.h"
#include "profile/profile.h"
#include "profile/stack_store.h"

/* The word of a wait at a lock that says who ended it; NULL: it is no such stack. */
static uint64_t *waker_of(const struct profile_stack *stack)
{
	if (!stack_is_lock(stack->flags, stack->nr_key))
		return NULL;
	return stack->frames + stack->nr_user + stack->nr_kernel + stack->nr_fp + FPL_LOCK_WAKER;
}

int lock_waits_link(struct stack_store *store)
{
	AUTO_FREE uint32_t *places = NULL;

	if (stack_store_places(store, &places))
		return -ENOMEM;
	for (uint32_t i = 0; i < stack_store_nr(store); i++) {
		struct profile_stack stack;
		uint64_t *word;
		uint32_t waker;

		stack_store_look(store, i, &stack);
		word = waker_of(&stack);
		if (!word || !*word)
			continue;
		waker = stack_store_find(store, (uint32_t)*word);
		*word = waker == STACK_STORE_NONE || places[waker] == STACK_STORE_NONE
				? 0
				: 1 + (uint64_t)places[waker];
	}
	return 0;
}

/* Move the wakers to a list of their own. @numbers [nr_stacks]: 1 + the place in it of each; 0: it
 * is no waker. */
static void part(struct profile *profile, const uint32_t *numbers)
{
	size_t nr = profile->nr_stacks;

	profile->nr_stacks = 0;
	for (size_t i = 0; i < nr; i++) {
		struct profile_stack stack = profile->stacks[i];
		uint64_t *word = waker_of(&stack);

		if (numbers[i]) {
			profile->wakers[profile->nr_wakers++] = stack;
			profile->books.fired -= stack.count;
			continue;
		}
		if (word)
			*word = *word && *word <= nr ? numbers[*word - 1] : 0;
		profile->stacks[profile->nr_stacks++] = stack;
	}
}

struct lock_list {
	VECTOR(struct profile_lock);
	int error;
};

static void add_lock(const struct fpl_lock_key *key, const struct fpl_lock *lock, void *ctx)
{
	struct lock_list *locks = ctx;
	const struct profile_lock entry = {
		.pid = key->tgid, .addr = key->addr, .ns = lock->ns, .nr = lock->nr
	};

	if (!locks->error)
		locks->error = vector_push(locks, entry);
}

static int compare_locks(const void *left, const void *right)
{
	const struct profile_lock *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

static int take_locks(const struct kernel_side *kernel, struct profile *profile)
{
	struct lock_list locks = { .list = NULL };
	int code = kernel_side_locks(kernel, add_lock, &locks, &profile->locks_beyond);

	if (!code)
		code = locks.error;
	if (code) {
		vector_fini(&locks);
		return code;
	}
	if (locks.nr)
		qsort(locks.list, locks.nr, sizeof(*locks.list), compare_locks);
	profile->locks = locks.list;
	profile->nr_locks = locks.nr;
	return 0;
}

int lock_waits_take(const struct kernel_side *kernel, struct profile *profile)
{
	AUTO_FREE uint32_t *numbers = calloc(profile->nr_stacks + 1, sizeof(*numbers));
	uint32_t nr_wakers = 0;

	for (size_t i = 0; numbers && i < profile->nr_stacks; i++)
		if (profile->stacks[i].flags & FPL_SAMPLE_WAKER)
			numbers[i] = ++nr_wakers;
	profile->wakers = calloc(nr_wakers + 1, sizeof(*profile->wakers));
	if (!numbers || !profile->wakers)
		return -ENOMEM;
	part(profile, numbers);
	return take_locks(kernel, profile);
}
