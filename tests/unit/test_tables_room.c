// SPDX-License-Identifier: Apache-2.0
/* Tables that do not all fit: which are refused, evicted and tried again, also while rows from code
 * are still to come. */
#include "tests/support/tables_world.h"

static void cfi_table_stays_when_both_images_do_not_fit(void **state)
{
	struct world *world = *state;

	publish_cfi(world, HOLE);
	fill_pool(world, 0);
	tables_need(&world->tables, object_of(HOLE), first_made);
	world->mapped[HOLE - 1] = false; /* and it makes no room for itself */
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_false(has_row_at(world, first_made));
	assert_cfi_is_there(world, HOLE);
	assert_int_equal(world->tables.nr_evicted, 0);
}

static void rows_from_code_take_the_room_of_unmapped_tables(void **state)
{
	struct world *world = *state;

	publish_cfi(world, HOLE);
	make_bytes(world, SIGNAL, FPL_CHUNK_SIZE / 2);
	fill_pool(world, 0);
	world->mapped[SIGNAL - 1] = false;
	tables_need(&world->tables, object_of(HOLE), first_made);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_true(has_row_at(world, last_made));
	assert_int_equal(object_of(SIGNAL)->table.phase, TABLE_EVICTED);
	assert_int_equal(world->slots[SIGNAL].object, 0);
	assert_int_equal(world->tables.nr_evicted, 1);
}

/* No lookup reads the space of a replaced table: it is freed before any other. */
static void replaced_table_makes_room_first(void **state)
{
	struct world *world = *state;
	uint32_t bytes;

	publish_cfi(world, HOLE);
	bytes = object_of(HOLE)->table.pool_size;
	tables_need(&world->tables, object_of(HOLE), first_made);
	finish(HOLE, COMPILER_WHOLE);
	collect(world, 1);
	fill_pool(world, 0);
	world->mapped[HOLE - 1] = false;
	make_bytes(world, SIGNAL, bytes);
	assert_int_equal(object_of(SIGNAL)->table.phase, TABLE_READY);
	assert_published(world, HOLE, TABLE_READY);
	assert_true(has_row_at(world, last_made));
	assert_int_equal(world->tables.nr_evicted, 0);
}

/* If one table gives too little room, more go, and no more than needed. */
static void as_many_go_as_it_takes(void **state)
{
	struct world *world = *state;
	unsigned int nr = 0;

	for (uint32_t id = HOLE; id <= SIGNAL; id++) {
		make_bytes(world, id, FPL_CHUNK_SIZE / 4);
		world->mapped[id - 1] = false;
	}
	fill_pool(world, 0);
	make_bytes(world, LEAF, FPL_CHUNK_SIZE / 2);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_READY);
	for (uint32_t id = HOLE; id <= SIGNAL; id++) {
		nr += object_of(id)->table.phase == TABLE_EVICTED;
		assert_int_equal(world->slots[id].object == 0,
				 object_of(id)->table.phase == TABLE_EVICTED);
	}
	assert_int_equal(nr, 2);
	assert_int_equal(world->tables.nr_evicted, 2);
	assert_int_equal(used_bytes(world), FPL_CHUNK_SIZE);
}

/* A review weighs all that would have to go, and leaves their state as it is. */
static void a_review_weighs_several(void **state)
{
	struct world *world = *state;

	for (uint32_t id = HOLE; id <= SIGNAL; id++) {
		make_bytes(world, id, FPL_CHUNK_SIZE / 4);
		world->used[id - 1] = true;
	}
	fill_pool(world, 0);
	make_bytes(world, LEAF, FPL_CHUNK_SIZE / 2);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_REFUSED);
	let_pass();
	for (uint32_t id = HOLE; id <= SIGNAL; id++)
		object_of(id)->table.used = 0;
	object_of(LEAF)->table.missed =
		60; /* 30 after the look: more than one costs, not than two */
	tables_review(&world->tables);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_REFUSED);
	for (uint32_t id = HOLE; id <= SIGNAL; id++) {
		assert_int_equal(object_of(id)->table.phase, TABLE_READY);
		object_of(id)->table.used = 0;
	}
	let_pass();
	object_of(LEAF)->table.missed = 82;
	tables_review(&world->tables);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_QUEUED);
	for (uint32_t id = HOLE; id <= SIGNAL; id++)
		assert_int_equal(object_of(id)->table.phase, TABLE_READY);
}

/* HOLE has its rows asked for, and loses its place to CHAIN meanwhile; then there is room again. */
static void evict_hole(struct world *world)
{
	publish_cfi(world, HOLE);
	fill_pool(world, 0);
	world->mapped[HOLE - 1] = false;
	tables_need(&world->tables, object_of(HOLE), first_made);
	publish_cfi(world, CHAIN);
	assert_published(world, CHAIN, TABLE_READY);
	assert_int_equal(object_of(HOLE)->table.phase, TABLE_EVICTED);
	assert_int_equal(world->slots[HOLE].object, 0);
	assert_int_equal(world->tables.nr_evicted, 1);
	world->mapped[HOLE - 1] = true;
	empty_pool(world);
}

static void rows_of_one_that_was_evicted_are_dropped(void **state)
{
	struct world *world = *state;
	uint64_t bytes;

	compiler.is_slow = true;
	evict_hole(world);
	bytes = used_bytes(world);
	tables_want(&world->tables, object_of(HOLE)); /* a mapping alone does not bring it back */
	assert_int_equal(object_of(HOLE)->table.phase, TABLE_EVICTED);
	finish(HOLE, COMPILER_NEAR);
	finish(HOLE, COMPILER_WHOLE);
	collect(world, 2);
	assert_int_equal(object_of(HOLE)->table.phase, TABLE_EVICTED);
	assert_int_equal(world->slots[HOLE].object, 0);
	assert_int_equal(used_bytes(world), bytes);

	/* a sample does, and begins anew */
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_int_equal(compiler.nr_jobs, 1);
	deliver(world, HOLE, COMPILER_CFI, TABLE_PARTIAL);
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_int_equal(compiler.nr_jobs, 2);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_true(has_row_at(world, last_made));
}

static void evicted_object_waits_for_its_full_table(void **state)
{
	struct world *world = *state;

	evict_hole(world);
	tables_need(&world->tables, object_of(HOLE), first_made);
	deliver(world, HOLE, COMPILER_CFI, TABLE_PARTIAL);
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_int_equal(compiler.nr_jobs, 1);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_true(has_row_at(world, last_made));
}

static void a_whole_table_that_comes_before_the_cfi_s_is_enough(void **state)
{
	struct world *world = *state;

	evict_hole(world);
	tables_need(&world->tables, object_of(HOLE), first_made);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	deliver(world, HOLE, COMPILER_CFI, TABLE_READY);
	assert_int_equal(world->slots[HOLE].current, 0);
	assert_true(has_row_at(world, last_made));
}

static void rows_around_a_sample_may_come_before_the_cfi_s_table(void **state)
{
	struct world *world = *state;

	compiler.is_slow = true;
	evict_hole(world);
	tables_need(&world->tables, object_of(HOLE), first_made);
	deliver(world, HOLE, COMPILER_NEAR, TABLE_PARTIAL);
	assert_true(has_row_at(world, first_made));
	finish(HOLE, COMPILER_CFI);
	finish(HOLE, COMPILER_WHOLE);
	collect(world, 2);
	assert_published(world, HOLE, TABLE_READY);
	assert_true(has_row_at(world, last_made));
}

static void a_whole_table_that_fails_before_the_cfi_s_is_asked_for_again(void **state)
{
	struct world *world = *state;

	evict_hole(world);
	tables_need(&world->tables, object_of(HOLE), first_made);
	fail_job(HOLE, COMPILER_WHOLE, -EOWNERDEAD);
	collect(world, 1);
	assert_int_equal(object_of(HOLE)->table.phase, TABLE_QUEUED);
	deliver(world, HOLE, COMPILER_CFI, TABLE_PARTIAL);
	tables_need(&world->tables, object_of(HOLE), first_made);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
}

static void a_table_without_room_is_refused_until_there_is_some(void **state)
{
	struct world *world = *state;
	struct object *object = object_of(CHAIN);
	struct profile_tables stats;

	fill_pool(world, 64);
	publish_cfi(world, CHAIN);
	assert_int_equal(object->table.phase, TABLE_REFUSED);
	assert_int_equal(world->slots[CHAIN].object, 0);
	assert_int_equal(object->table.nr_refusals, 1);
	assert_int_equal(object->table.refused_ns, now_ns);
	assert_true(world->tables.changed);
	tables_stats(&world->tables, &stats);
	assert_int_equal(stats.objects, 0);
	assert_int_equal(stats.refused, 1);
	assert_true(stats.refused_bytes > 64);
	assert_int_equal(object->table.pool_size, stats.refused_bytes);

	/* not at once, nor later where there is no more room */
	tables_need(&world->tables, object, 0x1000);
	let_pass();
	tables_need(&world->tables, object, 0x1000);
	assert_int_equal(compiler.nr_jobs, 0);
	empty_pool(world);
	world->tables.changed = false;
	publish_cfi(world, CHAIN);
	assert_published(world, CHAIN, TABLE_READY);
	assert_true(world->tables.changed);
	assert_int_equal(object->table.nr_refusals, 0);
	assert_int_equal(world->tables.nr_refused, 1);
}

static void each_refusal_doubles_the_pause(void **state)
{
	static const struct {
		uint32_t nr;
		uint64_t pause_s;
	} cases[] = { { 4, 16 }, { 5, 32 }, { 6, 64 }, { 9, 64 } };
	struct world *world = *state;
	struct object *object = object_of(CHAIN);

	fill_pool(world, 64);
	publish_cfi(world, CHAIN);
	empty_pool(world);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		object->table.nr_refusals = cases[i].nr;
		object->table.refused_ns = now_ns;
		now_ns += cases[i].pause_s * NS_PER_S - 1;
		tables_want(&world->tables, object);
		assert_int_equal(object->table.phase, TABLE_REFUSED);
		now_ns++;
		tables_want(&world->tables, object);
		assert_int_equal(object->table.phase, TABLE_QUEUED);
		object->table.phase = TABLE_REFUSED;
	}
}

static void table_larger_than_the_pool_evicts_none(void **state)
{
	struct world *world = *state;

	publish_cfi(world, CHAIN);
	world->mapped[CHAIN - 1] = false;
	make_bytes(world, SIGNAL, FPL_CHUNK_SIZE + 64);
	assert_int_equal(object_of(SIGNAL)->table.phase, TABLE_REFUSED);
	assert_published(world, CHAIN, TABLE_READY);
	object_of(SIGNAL)->table.missed = 1000;
	let_pass();
	tables_review(&world->tables);
	assert_int_equal(compiler.nr_jobs, 0);
	assert_int_equal(world->tables.nr_waiting, 1);
}

static void memory_that_the_kernel_refuses_is_no_room(void **state)
{
	struct world *world = *state;

	world->no_chunks = true;
	publish_cfi(world, CHAIN);
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_REFUSED);
	assert_int_equal(used_bytes(world), 0);
	world->no_chunks = false;
	let_pass();
	publish_cfi(world, CHAIN);
	assert_published(world, CHAIN, TABLE_READY);
}

/* CHAIN and SIGNAL share the pool, both used by walks; LEAF has no room. */
static void crowd(struct world *world)
{
	const uint32_t ids[] = { CHAIN, SIGNAL, LEAF };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		world->used[ids[i] - 1] = true;
		make_bytes(world, ids[i], FPL_CHUNK_SIZE / 2);
	}
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_READY);
	assert_int_equal(object_of(SIGNAL)->table.phase, TABLE_READY);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_REFUSED);
	world->used[LEAF - 1] = false;
	let_pass();
}

static void review_tries_tables_missed_more_than_others_are_used(void **state)
{
	struct world *world = *state;

	crowd(world);
	tables_review(&world->tables); /* LEAF: no misses */
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_REFUSED);
	assert_int_equal(world->tables.nr_waiting, 1);
	let_pass();
	object_of(LEAF)->table.missed = 20; /* not more than use another twice over */
	tables_review(&world->tables);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_REFUSED);

	/* both keep their state while it is weighed */
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_READY);
	assert_int_equal(object_of(SIGNAL)->table.phase, TABLE_READY);
	let_pass();
	object_of(LEAF)->table.missed = 1000;
	tables_review(&world->tables);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_QUEUED);
	object_of(LEAF)->table.missed = 1000;
	let_pass();
	finish_with(LEAF, FPL_CHUNK_SIZE / 2);
	collect(world, 1);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_READY);
	assert_int_equal(object_of(LEAF)->table.missed, 0);
	assert_int_equal((object_of(CHAIN)->table.phase == TABLE_EVICTED) +
				 (object_of(SIGNAL)->table.phase == TABLE_EVICTED),
			 1);
	let_pass();
	tables_review(&world->tables);
	assert_int_equal(world->tables.nr_waiting, 0);
}

static void a_review_pauses(void **state)
{
	struct world *world = *state;
	unsigned int nr;

	tables_review(&world->tables);
	assert_int_equal(world->nr_looks, 0); /* everything fits */
	crowd(world);
	tables_review(&world->tables);
	nr = world->nr_looks;
	object_of(LEAF)->table.missed = 1000;
	now_ns = world->tables.reviewed_ns + NS_PER_S - 1;
	tables_review(&world->tables);
	assert_int_equal(world->nr_looks, nr);
	assert_int_equal(object_of(LEAF)->table.phase, TABLE_REFUSED);
	now_ns++;
	tables_review(&world->tables);
	assert_int_equal(world->nr_looks, nr + 1);
}

/* More images are replaced than wait for one grace period. */
static void space_of_replaced_tables_is_freed(void **state)
{
	struct world *world = *state;

	for (uint32_t i = 0; i < 2 * TABLES_RETIRED_MAX + 3; i++) {
		struct object *object = object_of(CHAIN);

		tables_want(&world->tables, object);
		begin_job(CHAIN, COMPILER_CFI);

		struct table *table = table_of_pattern(64, 5);

		table->stats.synth_left = 1;
		done(CHAIN, COMPILER_CFI, table, 0);
		collect(world, 1);
		tables_need(&world->tables, object, 0x1000);
		begin_job(CHAIN, COMPILER_WHOLE);
		done(CHAIN, COMPILER_WHOLE, table_of_pattern(64, 5), 0);
		collect(world, 1);
		assert_int_equal(object->table.phase, TABLE_READY);
		assert_true(used_bytes(world) <= 64 * (i + TABLES_RETIRED_MAX + 1));
		object->table.phase = TABLE_IDLE; /* as if it were the next one */
	}
	tables_review(&world->tables);
	assert_int_equal(used_bytes(world), 64 * (2 * TABLES_RETIRED_MAX + 3));
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tables_world_set_up, tables_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cfi_table_stays_when_both_images_do_not_fit),
		TEST(rows_from_code_take_the_room_of_unmapped_tables),
		TEST(replaced_table_makes_room_first),
		TEST(as_many_go_as_it_takes),
		TEST(a_review_weighs_several),
		TEST(rows_of_one_that_was_evicted_are_dropped),
		TEST(evicted_object_waits_for_its_full_table),
		TEST(a_whole_table_that_comes_before_the_cfi_s_is_enough),
		TEST(rows_around_a_sample_may_come_before_the_cfi_s_table),
		TEST(a_whole_table_that_fails_before_the_cfi_s_is_asked_for_again),
		TEST(a_table_without_room_is_refused_until_there_is_some),
		TEST(each_refusal_doubles_the_pause),
		TEST(table_larger_than_the_pool_evicts_none),
		TEST(memory_that_the_kernel_refuses_is_no_room),
		TEST(review_tries_tables_missed_more_than_others_are_used),
		TEST(a_review_pauses),
		TEST(space_of_replaced_tables_is_freed),
	};

	return cmocka_run_group_tests(tests, tables_world_open, tables_world_close);
}
