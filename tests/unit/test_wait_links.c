/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "profile/profile.h"
#include "profile/stack_store.h"
#include "profile/wait_links.h"

/* Add a sample of @frames [nr] in user code with the key @key, NULL: none, counted under @id. */
static void add(struct stack_store *store, uint32_t id, uint8_t flags, const uint64_t *frames,
		uint16_t nr, const uint64_t *key)
{
	const struct fpl_sample sample = {
		.id = id,
		.tgid = 7,
		.nr_user = nr,
		.nr_key = key ? FPL_KEY_MAX : 0,
		.flags = flags,
		.stop = flags & FPL_SAMPLE_WAKER ? FPL_STOP_OUTERMOST : FPL_STOP_NO_USER_REGS,
		.weight = 10,
		.comm = "waker",
	};

	assert_int_equal(stack_store_add(store, &sample, frames, key), 0);
	assert_int_equal(stack_store_count(store, id, 1, key ? 10 : 0, 0), 0);
}

static void make_key(uint64_t key[FPL_KEY_MAX], const uint32_t links[FPL_LINKS_MAX])
{
	memset(key, 0, FPL_KEY_MAX * sizeof(*key));
	memcpy(key, "wakee", 6);
	memcpy(key + FPL_WAIT_LINKS, links, FPL_LINKS_MAX * sizeof(*links));
}

/* A profile of @store with @nr_links, whose wakers are parted. */
static void take(struct stack_store *store, uint32_t nr_links, bool are_chains, struct profile *ret)
{
	*ret = (struct profile){ .nr_links = nr_links, .books.fired = 100 };
	assert_int_equal(wait_links_resolve(store), 0);
	assert_int_equal(stack_store_take(store, &ret->stacks, &ret->nr_stacks), 0);
	assert_int_equal(wait_links_take(ret, are_chains), 0);
}

static const uint64_t first[] = { 0x11, 0x12 }, second[] = { 0x21 };

static void the_samples_of_a_chain_get_the_stack_of_their_first_link(void **state)
{
	const uint32_t links[] = { 5, 6, 77, FPL_LINK_STRANGER };
	uint64_t key[FPL_KEY_MAX];
	struct stack_store *store;
	struct profile profile;

	(void)state;
	make_key(key, links);
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	add(store, 4, 0, NULL, 0, key);
	add(store, 5, FPL_SAMPLE_WAKER, first, 2, NULL);
	add(store, 6, FPL_SAMPLE_WAKER, second, 1, NULL);
	take(store, 4, true, &profile);

	/* of the three that were counted, one is a sample */
	assert_int_equal(profile.nr_stacks, 1);
	assert_int_equal(profile.books.fired, 98);
	assert_int_equal(profile.nr_links, 3);

	const struct profile_stack *stack = &profile.stacks[0];

	assert_int_equal(stack->nr_user, 2);
	assert_memory_equal(stack->frames, first, sizeof(first));
	assert_int_equal(stack->stop, FPL_STOP_OUTERMOST);
	assert_string_equal((const char *)(stack->frames + stack->nr_user), "wakee");
	assert_memory_equal(profile_waker(&profile, profile_link(&profile, stack, 0))->frames,
			    second, sizeof(second));
	/* id 77 was never heard of */
	assert_int_equal(profile_link(&profile, stack, 1), FPL_LINK_LOST);
	assert_int_equal(profile_link(&profile, stack, 2), FPL_LINK_STRANGER);
	assert_int_equal(profile_link(&profile, stack, 3), 0);
	profile_fini(&profile);
	stack_store_destroy(store);
}

static void a_chain_whose_stack_was_lost_has_none(void **state)
{
	const uint32_t links[] = { FPL_LINK_LOST, FPL_LINK_END, 0, 0 };
	uint64_t key[FPL_KEY_MAX];
	struct stack_store *store;
	struct profile profile;

	(void)state;
	make_key(key, links);
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	add(store, 4, 0, NULL, 0, key);
	take(store, 2, true, &profile);
	assert_int_equal(profile.nr_stacks, 1);
	assert_int_equal(profile.stacks[0].nr_user, 0);
	assert_int_equal(profile_link(&profile, &profile.stacks[0], 0), FPL_LINK_END);
	profile_fini(&profile);
	stack_store_destroy(store);
}

static void a_wait_leads_to_who_ended_it(void **state)
{
	const uint32_t links[] = { 5, 0, 0, 0 };
	uint64_t key[FPL_KEY_MAX];
	struct stack_store *store;
	struct profile profile;

	(void)state;
	make_key(key, links);
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	add(store, 5, FPL_SAMPLE_WAKER, second, 1, NULL);
	add(store, 4, FPL_SAMPLE_BLOCKED, first, 2, key);
	take(store, 1, false, &profile);
	assert_int_equal(profile.nr_stacks, 1);
	assert_int_equal(profile.nr_links, 1);
	assert_memory_equal(profile.stacks[0].frames, first, sizeof(first));
	assert_memory_equal(
		profile_waker(&profile, profile_link(&profile, &profile.stacks[0], 0))->frames,
		second, sizeof(second));
	profile_fini(&profile);
	stack_store_destroy(store);
}

/* The stack is kept when the wait begins: it is not known yet who will end it. */
static void a_wait_leads_to_its_own_stack_first(void **state)
{
	const uint32_t links[] = { 5, 6, 0, 0 }, unwalked[] = { 0, 6, 0, 0 };
	uint64_t key[FPL_KEY_MAX];
	struct stack_store *store;
	struct profile profile;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	add(store, 5, FPL_SAMPLE_WAKER | FPL_SAMPLE_KTHREAD, first, 2, NULL);
	add(store, 6, FPL_SAMPLE_WAKER, second, 1, NULL);
	make_key(key, links);
	add(store, 7, FPL_SAMPLE_BLOCKED, NULL, 0, key);
	make_key(key, unwalked);
	add(store, 8, FPL_SAMPLE_BLOCKED, second, 1, key);
	take(store, 2, true, &profile);
	assert_int_equal(profile.nr_stacks, 2);
	assert_int_equal(profile.nr_links, 1);
	assert_int_equal(profile.books.fired, 98);
	for (size_t i = 0; i < 2; i++) {
		const struct profile_stack *stack = &profile.stacks[i];
		bool is_kept = stack->nr_user == 2;

		assert_memory_equal(stack->frames, is_kept ? first : second,
				    stack->nr_user * sizeof(*first));
		assert_int_equal(stack->flags, is_kept ? FPL_SAMPLE_BLOCKED | FPL_SAMPLE_KTHREAD
						       : FPL_SAMPLE_BLOCKED);
		assert_int_equal(stack->stop, is_kept ? FPL_STOP_OUTERMOST : FPL_STOP_NO_USER_REGS);
		assert_memory_equal(
			profile_waker(&profile, profile_link(&profile, stack, 0))->frames, second,
			sizeof(second));
	}
	assert_int_equal(profile.stacks[0].nr_user + profile.stacks[1].nr_user, 3);
	profile_fini(&profile);
	stack_store_destroy(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_samples_of_a_chain_get_the_stack_of_their_first_link),
		cmocka_unit_test(a_chain_whose_stack_was_lost_has_none),
		cmocka_unit_test(a_wait_leads_to_who_ended_it),
		cmocka_unit_test(a_wait_leads_to_its_own_stack_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
