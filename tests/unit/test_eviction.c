/* SPDX-License-Identifier: Apache-2.0 */
/* Which table gives way, over objects made here in place of a catalog. */
#include "cmocka_all.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/eviction.h"
#include "profile/table_use.h"

#define NR    4u
#define LOOK  10u
#define ROUND 5u
#define NOW   (100 * EVICTION_STAY_NS)

static struct object objects[NR];

size_t catalog_nr_live(const struct catalog *catalog)
{
	(void)catalog;
	return NR;
}

struct object *catalog_live(const struct catalog *catalog, size_t i)
{
	(void)catalog;
	return &objects[i];
}

struct object *catalog_at(const struct catalog *catalog, uint32_t id)
{
	(void)catalog;
	return id >= 1 && id <= NR ? &objects[id - 1] : NULL;
}

/* All have a table, are mapped, and were used one after the other, the last one lately. */
static int setup(void **state)
{
	(void)state;
	memset(objects, 0, sizeof(objects));
	for (uint32_t i = 0; i < NR; i++)
		objects[i] = (struct object){ .id = i + 1,
					      .table.phase = TABLE_READY,
					      .round = ROUND,
					      .table.used_look = LOOK - 2 * (NR - 1 - i),
					      .table.used = 10 };
	return 0;
}

#define OTHER 4242u /* not who runs the test */
#define BYTES 100u  /* of each table; there is room for all */

static struct eviction eviction_for(const struct object *newcomer)
{
	return (struct eviction){ .newcomer = newcomer,
				  .now_ns = NOW,
				  .look = LOOK,
				  .round = ROUND,
				  .bytes = BYTES,
				  .max_bytes = NR * BYTES };
}

static void the_longest_unused_goes_first(void **state)
{
	const struct object newcomer = { .table.missed = 0 };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	for (uint32_t i = 0; i < NR - 1; i++) {
		struct object *victim = eviction_next(&eviction);

		assert_ptr_equal(victim, &objects[i]);
		victim->table.phase = TABLE_EVICTED;
	}
	assert_null(eviction_next(&eviction)); /* the last one is in use */
	assert_int_equal(eviction.spent, 10 * (NR - 1));
}

static void unused_table_is_evicted_before_used_one(void **state)
{
	const struct object newcomer = { .table.missed = 0 };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	objects[2].table.used_look = 0;
	assert_ptr_equal(eviction_next(&eviction), &objects[2]);
}

static void unmapped_table_is_evicted_before_mapped_one(void **state)
{
	const struct object newcomer = { .table.missed = 0 };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	objects[1].round = ROUND - 1;
	assert_ptr_equal(eviction_next(&eviction), &objects[1]);

	/* even one that was used lately, when nothing else is left; a new one, too */
	for (uint32_t i = 0; i < NR; i++)
		objects[i].table.phase = TABLE_IDLE;
	objects[3].table.phase = TABLE_READY;
	objects[3].round = ROUND - 1;
	objects[3].table.placed_ns = NOW;
	assert_ptr_equal(eviction_next(&eviction), &objects[3]);
}

static void a_new_table_stays_for_a_while(void **state)
{
	const struct object newcomer = { .table.missed = 1000 };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	objects[0].table.placed_ns = NOW - EVICTION_STAY_NS + 1;
	assert_ptr_equal(eviction_next(&eviction), &objects[1]);
	objects[0].table.placed_ns = NOW - EVICTION_STAY_NS;
	assert_ptr_equal(eviction_next(&eviction), &objects[0]);
}

static void used_table_yields_only_to_one_missed_more(void **state)
{
	struct object newcomer = { .table.missed = 20 };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		objects[i].table.used_look = LOOK - i % 2; /* in one of the last two looks */
	assert_null(eviction_next(&eviction));
	newcomer.table.missed = 21;
	assert_ptr_equal(eviction_next(&eviction), &objects[1]);
	objects[1].table.phase = TABLE_EVICTED;
	assert_null(eviction_next(&eviction)); /* two together are used 20 times */
}

static void object_without_table_is_not_evicted(void **state)
{
	const struct object newcomer = { .table.missed = 1000 };
	struct eviction eviction = eviction_for(&newcomer);
	static const enum table_phase states[NR] = { TABLE_IDLE, TABLE_QUEUED, TABLE_NO_CFI,
						     TABLE_REFUSED };

	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		objects[i].table.phase = states[i];
	assert_null(eviction_next(&eviction));
}

/* Three of four tables are of one user's files, all in use, and much more than the newcomer will.
 */
static void give_to(uint64_t owner, unsigned int nr)
{
	for (uint32_t i = 0; i < NR; i++) {
		objects[i].table.used_look = LOOK;
		objects[i].table.pool_size = BYTES;
		objects[i].owner = i < nr ? owner : 0;
		objects[i].table.used = 1000 - 100 * i;
		objects[i].table.placed_ns = NOW;
	}
}

static void tables_beyond_the_share_of_a_user_give_way_to_others(void **state)
{
	const struct object newcomer = { .table.missed = 0, .owner = OTHER + 1 };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	give_to(OTHER, 3);
	/* the least used one; the other two are his share */
	assert_ptr_equal(eviction_next(&eviction), &objects[2]);
	objects[2].table.phase = TABLE_EVICTED;
	assert_null(eviction_next(&eviction));
	assert_int_equal(eviction.spent, 0);
	/* a cgroup of root has a share, root has not, nor has who runs this */
	setup(NULL);
	give_to(owner_of_cgroup("/a.slice/b.scope", 0), 3);
	assert_ptr_equal(eviction_next(&eviction), &objects[2]);
	setup(NULL);
	give_to(0, 3);
	assert_null(eviction_next(&eviction));
}

static void beyond_his_share_a_user_takes_no_room_of_others(void **state)
{
	struct object newcomer = { .table.missed = 1000000, .owner = OTHER };
	struct eviction eviction = eviction_for(&newcomer);

	(void)state;
	give_to(OTHER, 2);
	for (uint32_t i = 0; i < NR; i++)
		objects[i].table.placed_ns = 0;
	assert_true(eviction_is_beyond_share(&eviction));
	assert_ptr_equal(eviction_next(&eviction), &objects[1]);
	objects[1].table.phase = TABLE_EVICTED;
	/* he has one of four by now: another one is within his share, whoever gives way */
	assert_false(eviction_is_beyond_share(&eviction));
	assert_ptr_equal(eviction_next(&eviction), &objects[3]);

	/* an unmapped object has no owner */
	setup(NULL);
	give_to(OTHER, 2);
	objects[3].round = ROUND - 1;
	assert_ptr_equal(eviction_next(&eviction), &objects[3]);
}

#define FRAME(object) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | 0x1000)

static void frames_are_uses_of_the_tables_that_found_their_callers(void **state)
{
	const uint64_t frames[] = { FRAME(1), FRAME(2), FPL_FRAME_RAW | 0x1000, FRAME(NR + 1),
				    FRAME(3) };

	(void)state;
	table_use_note(NULL, frames, ARRAY_SIZE(frames), FPL_STOP_OUTERMOST, 7, 11);
	assert_int_equal(objects[0].table.used, 17);
	assert_int_equal(objects[1].table.used, 17);
	assert_int_equal(objects[2].table.used, 17);
	assert_int_equal(objects[2].table.used_look, 11);
	assert_int_equal(objects[3].table.used, 10);
	assert_int_equal(objects[2].table.missed, 0);

	/* the walk ended in object 3 for want of its table */
	table_use_note(NULL, frames, ARRAY_SIZE(frames), FPL_STOP_NO_TABLE, 5, 12);
	assert_int_equal(objects[1].table.used, 22);
	assert_int_equal(objects[2].table.used, 17);
	assert_int_equal(objects[2].table.used_look, 11);
	assert_int_equal(objects[2].table.missed, 5);
	table_use_fade(NULL);
	assert_int_equal(objects[1].table.used, 11);
	assert_int_equal(objects[2].table.missed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_longest_unused_goes_first, setup),
		cmocka_unit_test_setup(unused_table_is_evicted_before_used_one, setup),
		cmocka_unit_test_setup(unmapped_table_is_evicted_before_mapped_one, setup),
		cmocka_unit_test_setup(a_new_table_stays_for_a_while, setup),
		cmocka_unit_test_setup(used_table_yields_only_to_one_missed_more, setup),
		cmocka_unit_test_setup(object_without_table_is_not_evicted, setup),
		cmocka_unit_test_setup(tables_beyond_the_share_of_a_user_give_way_to_others, setup),
		cmocka_unit_test_setup(beyond_his_share_a_user_takes_no_room_of_others, setup),
		cmocka_unit_test_setup(frames_are_uses_of_the_tables_that_found_their_callers,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
