/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is, by a clock made here. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/refusals.h"
#include "profile/turns.h"

#define USER	  4242u /* not who runs the test, nor is the next */
#define BYSTANDER 4243u

static uint64_t hostile;

static struct turns turns;
static struct turn_queue queue;

static int setup(void **state)
{
	(void)state;
	turns = (struct turns){ .faded_ns = 0 };
	hostile = USER;
	turn_queue_init(&queue);
	return 0;
}

/*
 * Two workers, for a minute. A user has ever more files that take 5 s each; of another one comes
 * each second that takes 10 ms.
 */
static void a_user_with_slow_files_leaves_a_worker_for_others(void **state)
{
	static struct turn slow[100], quick[60];
	struct {
		struct turn *turn;
		uint64_t began_ns, until_ns;
	} workers[2] = { 0 };
	uint64_t came_ns[ARRAY_SIZE(quick)], longest_ns = 0;
	size_t nr_quick = 0, nr_done = 0, nr_slow = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		slow[i].owner = hostile;
		turn_queue_push(&queue, &slow[i]);
	}
	for (uint64_t now = NS_PER_S; now < 61 * NS_PER_S; now += NS_PER_S / 1000) {
		if (now % NS_PER_S == 0 && nr_quick < ARRAY_SIZE(quick)) {
			quick[nr_quick].owner = BYSTANDER;
			came_ns[nr_quick] = now;
			turn_queue_push(&queue, &quick[nr_quick++]);
		}
		for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
			struct turn *turn = workers[i].turn;

			if (turn && now >= workers[i].until_ns) {
				bool is_quick = turn->owner == BYSTANDER;

				turns_end(&turns, turn->owner, now - workers[i].began_ns, now);
				if (is_quick && now - came_ns[turn - quick] > longest_ns)
					longest_ns = now - came_ns[turn - quick];
				nr_done += is_quick;
				nr_slow += !is_quick;
				workers[i].turn = turn = NULL;
			}
			if (turn)
				continue;
			turn = turns_begin(&turns, &queue, now);
			workers[i].turn = turn;
			workers[i].began_ns = now;
			if (turn)
				workers[i].until_ns =
					now +
					(turn->owner == hostile ? 5 * NS_PER_S : NS_PER_S / 100);
		}
	}
	assert_int_equal(nr_done, ARRAY_SIZE(quick));
	/* both workers may have begun with slow ones before anybody knew */
	assert_true(longest_ns <= 5 * NS_PER_S + NS_PER_S / 10);
	assert_true(nr_slow >= 10); /* one worker is his */
}

static void a_cgroup_of_root_with_slow_files_leaves_a_worker_for_others(void **state)
{
	hostile = owner_of_cgroup("/a.slice/b.scope", 0);
	a_user_with_slow_files_leaves_a_worker_for_others(state);
}

static void who_has_used_least_comes_first(void **state)
{
	struct turn list[] = { { .owner = hostile }, { .owner = hostile }, { .owner = BYSTANDER } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		turn_queue_push(&queue, &list[i]);
	assert_ptr_equal(turns_begin(&turns, &queue, NS_PER_S), &list[0]);
	turns_end(&turns, hostile, 1000, NS_PER_S);
	assert_ptr_equal(turns_begin(&turns, &queue, NS_PER_S), &list[2]);
	assert_ptr_equal(turns_begin(&turns, &queue, NS_PER_S), &list[1]);
	assert_null(turns_begin(&turns, &queue, NS_PER_S));
	assert_ptr_equal(queue.last, &queue.first);
}

static void root_may_have_all_workers(void **state)
{
	struct turn list[] = { { .owner = 0 }, { .owner = 0 } };

	(void)state;
	turns_note(&turns, 0, 10 * NS_PER_S, NS_PER_S);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		turn_queue_push(&queue, &list[i]);
		assert_ptr_equal(turns_begin(&turns, &queue, NS_PER_S), &list[i]);
	}
}

static void old_use_does_not_count(void **state)
{
	(void)state;
	turns_note(&turns, hostile, 8 * NS_PER_S, NS_PER_S);
	assert_int_equal(turns_used(&turns, hostile, NS_PER_S), 8 * NS_PER_S);
	assert_int_equal(turns_used(&turns, hostile, 3 * NS_PER_S), 2 * NS_PER_S);
	assert_int_equal(turns_used(&turns, hostile, 1000 * NS_PER_S), 0);
	assert_int_equal(turns_used(&turns, BYSTANDER, 1000 * NS_PER_S), 0);
}

static void what_limits_cost_is_summed_by_owner(void **state)
{
	static struct share_book books[PROFILE_LIMIT_COUNT];
	const struct share_book *all[PROFILE_LIMIT_COUNT];
	static struct profile profile;

	(void)state;
	for (size_t i = 0; i < PROFILE_LIMIT_COUNT; i++)
		all[i] = &books[i];
	hostile = owner_of_cgroup("/a.slice/b.scope", 0);
	share_take(&books[PROFILE_LIMIT_FILES], BYSTANDER, 2);
	share_take(&books[PROFILE_LIMIT_FILES], hostile, 5);
	share_take(&books[PROFILE_LIMIT_SNAPSHOTS], hostile, 7);
	assert_int_equal(refusals_sum(all, &profile), 0);
	assert_int_equal(profile.refused[PROFILE_LIMIT_FILES], 7);
	assert_int_equal(profile.refused[PROFILE_LIMIT_SNAPSHOTS], 7);
	assert_int_equal(profile.nr_owners, 2);
	assert_int_equal(profile.owners[0].owner, hostile);
	assert_string_equal(profile.owners[0].cgroup, "/a.slice/b.scope");
	assert_int_equal(profile.owners[0].refused[PROFILE_LIMIT_FILES], 5);
	assert_int_equal(profile.owners[0].refused[PROFILE_LIMIT_SNAPSHOTS], 7);
	assert_int_equal(profile.owners[1].owner, BYSTANDER);
	assert_null(profile.owners[1].cgroup);
}

/* The cost of an owner with many numbers must not be charged to another. */
static void users_that_are_not_told_apart_are_not_named(void **state)
{
	static struct share_book book, none;
	const struct share_book *all[PROFILE_LIMIT_COUNT];
	static struct profile profile;

	(void)state;
	for (size_t i = 0; i < PROFILE_LIMIT_COUNT; i++)
		all[i] = &none;
	all[PROFILE_LIMIT_TABLES] = &book;
	for (uint64_t uid = 1; uid < SHARE_OWNERS_MAX; uid++)
		share_take(&book, uid, 1);
	share_take(&book, BYSTANDER, 1);
	share_take(&book, BYSTANDER + 1, 99);
	assert_int_equal(refusals_sum(all, &profile), 0);
	assert_int_equal(profile.refused[PROFILE_LIMIT_TABLES], SHARE_OWNERS_MAX + 99);
	assert_int_equal(profile.owners[0].owner, OWNER_UNKNOWN);
	assert_int_equal(profile.owners[0].refused[PROFILE_LIMIT_TABLES], 100);
	assert_int_equal(profile.nr_owners, PROFILE_OWNERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_user_with_slow_files_leaves_a_worker_for_others, setup),
		cmocka_unit_test_setup(a_cgroup_of_root_with_slow_files_leaves_a_worker_for_others,
				       setup),
		cmocka_unit_test_setup(who_has_used_least_comes_first, setup),
		cmocka_unit_test_setup(root_may_have_all_workers, setup),
		cmocka_unit_test_setup(old_use_does_not_count, setup),
		cmocka_unit_test(what_limits_cost_is_summed_by_owner),
		cmocka_unit_test(users_that_are_not_told_apart_are_not_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
