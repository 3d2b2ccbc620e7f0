/* SPDX-License-Identifier: Apache-2.0 */
/* The map of regions: a slot for each that is used. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/regions.h"

struct world {
	struct fpl_region entries[FPL_REGIONS_MAX];
	struct regions regions;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	regions_init(&w->regions, w->entries);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static struct fpl_region region_to(uint64_t end)
{
	return (struct fpl_region){ .kind = FPL_REGION_SLJIT, .start = 0x1000, .end = end };
}

static uint64_t add(struct world *w, uint64_t end)
{
	const struct fpl_region region = region_to(end);
	uint64_t ref = 0;

	assert_int_equal(regions_add(&w->regions, &region, &ref), 0);
	return ref;
}

static bool is_there(const struct world *w, uint64_t ref)
{
	return w->entries[ref & (FPL_REGIONS_MAX - 1)].id == ref >> 16;
}

static void regions_that_say_the_same_are_one_until_the_last_user_is_gone(void **state)
{
	struct world *w = *state;
	uint64_t first = add(w, 0x2000), other = add(w, 0x3000);

	assert_int_equal(add(w, 0x2000), first);
	assert_int_not_equal(other, first);
	regions_remove(&w->regions, first);
	assert_true(is_there(w, first));
	regions_remove(&w->regions, first);
	assert_false(is_there(w, first));
	assert_true(is_there(w, other));
	regions_remove(&w->regions, first); /* that reference is stale */
	assert_int_not_equal(add(w, 0x2000), first);
}

static void there_are_as_many_as_there_is_room_for(void **state)
{
	const struct fpl_region one_more = region_to(1ull << 40);
	struct world *w = *state;
	uint64_t ref, last = 0;

	for (uint64_t i = 1; i < FPL_REGIONS_MAX; i++)
		last = add(w, 0x1000 + i);
	assert_int_equal(regions_add(&w->regions, &one_more, &ref), -ENOSPC);
	assert_int_equal(w->regions.nr_refused, 1);
	assert_int_equal(add(w, FPL_REGIONS_MAX + 0xfff), last); /* a user more takes no room */
	regions_remove(&w->regions, last);
	regions_remove(&w->regions, last);
	assert_int_equal(regions_add(&w->regions, &one_more, &ref), 0);
	assert_int_not_equal(ref, last); /* the slot is used again, with another id */
	assert_false(is_there(w, last));
}

static void the_one_of_sljit_stays(void **state)
{
	struct world *w = *state;
	uint64_t ref, again;

	assert_int_equal(regions_sljit(&w->regions, &ref), 0);
	assert_int_equal(regions_sljit(&w->regions, &again), 0);
	assert_int_equal(again, ref);
	regions_remove(&w->regions, ref);
	regions_remove(&w->regions, ref);
	assert_true(is_there(w, ref));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(regions_that_say_the_same_are_one_until_the_last_user_is_gone),
		TEST(there_are_as_many_as_there_is_room_for),
		TEST(the_one_of_sljit_stays),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
