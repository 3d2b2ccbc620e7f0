// SPDX-License-Identifier: Apache-2.0
/* Tables on their way to the kernel side: published once, and again with rows made from code. */
#include "base/log.h"
#include "tests/support/tables_world.h"

static void a_table_is_made_once_and_published(void **state)
{
	struct world *world = *state;
	struct profile_tables stats;

	tables_want(&world->tables, object_of(CHAIN));
	tables_want(&world->tables, object_of(CHAIN));
	tables_need(&world->tables, object_of(CHAIN), 0x1000);
	assert_int_equal(compiler.nr_jobs, 1);
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_QUEUED);
	assert_int_equal(world->slots[CHAIN].object, 0);
	deliver(world, CHAIN, COMPILER_CFI, TABLE_READY);
	assert_cfi_is_there(world, CHAIN);
	assert_int_equal(world->slots[CHAIN].entry_vaddr, object_of(CHAIN)->elf->entry);
	assert_int_equal(object_of(CHAIN)->table.nr_published, 1);
	assert_true(object_of(CHAIN)->table.placed_ns > 0);

	tables_want(&world->tables, object_of(CHAIN));
	tables_need(&world->tables, object_of(CHAIN), 0x1000);
	assert_int_equal(compiler.nr_jobs, 0);
	tables_stats(&world->tables, &stats);
	assert_int_equal(stats.objects, 1);
	assert_int_equal(stats.rows, object_of(CHAIN)->table.stats.rows);
	assert_int_equal(stats.rules, object_of(CHAIN)->table.stats.rules);
	assert_int_equal(stats.synth_refused, 0);
	object_of(CHAIN)->table.stats.synth_refused = 1;
	tables_stats(&world->tables, &stats);
	assert_int_equal(stats.synth_refused, 1);
	assert_int_equal(stats.bytes, used_bytes(world));
	assert_int_equal(stats.allocated_bytes, FPL_CHUNK_SIZE);
}

static void tables_that_were_asked_for_are_counted(void **state)
{
	struct world *world = *state;
	size_t nr_made, nr;

	tables_count(NULL, &nr_made, &nr);
	assert_int_equal(nr, 0);
	tables_want(&world->tables, object_of(CHAIN));
	tables_want(&world->tables, object_of(LEAF));
	tables_count(NULL, &nr_made, &nr);
	assert_int_equal(nr_made, 0);
	assert_int_equal(nr, 2);
	deliver(world, CHAIN, COMPILER_CFI, TABLE_READY);
	tables_count(NULL, &nr_made, &nr);
	assert_int_equal(nr_made, 1);
	fail_job(LEAF, COMPILER_CFI, -ENODATA);
	collect(world, 1);
	tables_count(NULL, &nr_made, &nr);
	assert_int_equal(nr_made, 2);
	assert_int_equal(nr, 2);
}

static void a_file_without_a_table_is_published_as_such(void **state)
{
	static const int codes[] = { -ENODATA, -EINVAL, -EOWNERDEAD };
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		uint32_t id = CHAIN + (uint32_t)i;

		tables_want(&world->tables, object_of(id));
		fail_job(id, COMPILER_CFI, codes[i]);
		collect(world, 1);
		assert_int_equal(object_of(id)->table.phase, TABLE_NO_CFI);
		assert_int_equal(world->slots[id].object, id);
		assert_int_equal(current(world, id)->state, FPL_TABLE_NONE);
		assert_int_equal(world->slots[id].entry_vaddr, object_of(id)->elf->entry);
		tables_need(&world->tables, object_of(id), 0x1000);
		assert_int_equal(compiler.nr_jobs, 0);
	}
}

static void refused_job_is_asked_again(void **state)
{
	struct world *world = *state;

	compiler.is_full = true;
	tables_want(&world->tables, object_of(CHAIN));
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_IDLE);
	compiler.is_full = false;
	publish_cfi(world, CHAIN);
	assert_published(world, CHAIN, TABLE_READY);
}

static void a_table_that_came_with_the_headers_is_published_once(void **state)
{
	const struct job job = { .part = COMPILER_CFI };
	struct world *world = *state;

	compiler.is_full = true;
	tables_want_made(&world->tables, object_of(CHAIN), compile(CHAIN, &job));
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_IDLE);
	compiler.is_full = false;
	tables_want_made(&world->tables, object_of(CHAIN), compile(CHAIN, &job));
	assert_int_equal(object_of(CHAIN)->table.phase, TABLE_QUEUED);
	tables_want(&world->tables, object_of(CHAIN));
	assert_int_equal(compiler.nr_jobs, 0);
	collect(world, 1);
	assert_cfi_is_there(world, CHAIN);
	tables_want_made(&world->tables, object_of(CHAIN), compile(CHAIN, &job));
	collect(world, 0);
	assert_int_equal(object_of(CHAIN)->table.nr_published, 1);
}

static void awaited_table_is_hastened_once(void **state)
{
	struct world *world = *state;

	tables_want(&world->tables, object_of(CHAIN));
	assert_int_equal(compiler.jobs[0].nr_hastened, 0);
	for (int i = 0; i < 3; i++)
		tables_need(&world->tables, object_of(CHAIN), 0);
	assert_int_equal(compiler.nr_jobs, 1);
	assert_int_equal(compiler.jobs[0].nr_hastened, 1);
	finish(CHAIN, COMPILER_CFI);
	collect(world, 1);
	assert_false(object_of(CHAIN)->table.is_urgent);
	/* HOLE was not wanted before */
	tables_need(&world->tables, object_of(HOLE), 0);
	assert_int_equal(compiler.nr_jobs, 1);
	assert_int_equal(compiler.jobs[0].nr_hastened, 1);
}

static void rows_from_code_come_when_a_sample_needs_them(void **state)
{
	struct world *world = *state;
	uint64_t partial_bytes;

	publish_cfi(world, HOLE);
	assert_published(world, HOLE, TABLE_PARTIAL);
	assert_cfi_is_there(world, HOLE);
	assert_false(has_row_at(world, first_made));
	partial_bytes = used_bytes(world);
	tables_want(&world->tables, object_of(HOLE));
	assert_int_equal(compiler.nr_jobs, 0);

	tables_need(&world->tables, object_of(HOLE), first_made);
	tables_need(&world->tables, object_of(HOLE), last_made);
	assert_int_equal(compiler.nr_jobs, 1);
	assert_false(has_row_at(world, first_made));
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_true(has_row_at(world, first_made));
	assert_true(has_row_at(world, last_made));
	assert_int_equal(object_of(HOLE)->table.nr_published, 2);

	assert_int_equal(object_of(HOLE)->table.stats.synth_left, 0);

	/* a walk may still read the first one, until the next review */
	assert_int_equal(used_bytes(world), partial_bytes + object_of(HOLE)->table.pool_size);
	tables_review(&world->tables);
	assert_int_equal(used_bytes(world), object_of(HOLE)->table.pool_size);
	assert_true(has_row_at(world, first_made));
	tables_need(&world->tables, object_of(HOLE), 0x1000);
	assert_int_equal(compiler.nr_jobs, 0);
}

static void rows_around_samples_come_first_for_slow_files(void **state)
{
	struct world *world = *state;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	tables_need(&world->tables, object_of(HOLE), first_made);
	tables_need(&world->tables, object_of(HOLE), first_made + 1);
	assert_int_equal(compiler.nr_jobs, 2);
	assert_int_equal(compiler.jobs[0].part, COMPILER_NEAR);
	assert_int_equal(compiler.jobs[0].nr_near, 2);
	assert_int_equal(compiler.jobs[0].near[1], first_made + 1);
	assert_int_equal(compiler.jobs[1].part, COMPILER_WHOLE);
	deliver(world, HOLE, COMPILER_NEAR, TABLE_PARTIAL);
	assert_true(has_row_at(world, first_made));
	assert_false(has_row_at(world, last_made));
	assert_int_equal(world->slots[HOLE].current, 1);

	/* another sample has its own rows made; the whole one is asked for once */
	tables_need(&world->tables, object_of(HOLE), first_made + 64);
	assert_int_equal(compiler.nr_jobs, 2);
	deliver(world, HOLE, COMPILER_NEAR, TABLE_PARTIAL);
	assert_true(has_row_at(world, first_made));
	assert_false(has_row_at(world, last_made));
	assert_int_equal(world->slots[HOLE].current, 0);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_true(has_row_at(world, first_made));
	assert_true(has_row_at(world, last_made));
	assert_int_equal(object_of(HOLE)->table.nr_published, 4);
	tables_review(&world->tables);
	assert_int_equal(used_bytes(world), object_of(HOLE)->table.pool_size);
}

static void assert_late(const struct world *world)
{
	assert_int_equal(object_of(HOLE)->table.phase, TABLE_PARTIAL);
	assert_int_equal(current(world, HOLE)->state, FPL_TABLE_LATE);
}

static void samples_do_not_wait_for_rows_from_code_that_take_long(void **state)
{
	struct world *world = *state;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	tables_need(&world->tables, object_of(HOLE), first_made);
	now_ns += TABLES_WAIT_NS;
	collect(world, 0);
	assert_published(world, HOLE, TABLE_PARTIAL);

	now_ns++;
	collect(world, 1); /* samples that wait are looked at again */
	assert_late(world);
	assert_int_equal(object_of(HOLE)->table.nr_published, 2);
	collect(world, 0);

	/* rows around a sample are used, and what has none is not waited for */
	finish(HOLE, COMPILER_NEAR);
	collect(world, 1);
	assert_late(world);
	assert_true(has_row_at(world, first_made));
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	assert_true(has_row_at(world, last_made));
}

static void rows_that_came_in_time_are_not_late(void **state)
{
	struct world *world = *state;

	publish_cfi(world, HOLE);
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_int_equal(world->tables.nr_awaited, 1);
	/* its table was made anew, and no sample has asked for more since */
	object_of(HOLE)->table.wait_ns = 0;
	collect(world, 0);
	assert_int_equal(world->tables.nr_awaited, 0);
	assert_published(world, HOLE, TABLE_PARTIAL);
}

static void waiting_objects_are_bounded(void **state)
{
	struct world *world = *state;

	publish_cfi(world, HOLE);
	world->tables.nr_awaited = TABLES_AWAITED_MAX;
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_late(world);
	world->tables.nr_awaited = 0;
	tables_wait_no_more(&world->tables, object_of(HOLE));
	assert_int_equal(object_of(HOLE)->table.nr_published, 2);
	deliver(world, HOLE, COMPILER_WHOLE, TABLE_READY);
	tables_wait_no_more(&world->tables, object_of(HOLE));
	assert_published(world, HOLE, TABLE_READY);
}

static void rows_around_samples_are_made_a_few_times_only(void **state)
{
	struct world *world = *state;
	int nr = 0;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	for (;; nr++) {
		tables_need(&world->tables, object_of(HOLE), first_made);
		if (compiler.nr_jobs == 1)
			break;
		finish(HOLE, COMPILER_NEAR);
		collect(world, 1);
	}
	assert_int_equal(nr, 4);
	assert_int_equal(compiler.jobs[0].part, COMPILER_WHOLE);
}

static void rows_around_a_sample_that_come_after_all_are_dropped(void **state)
{
	struct world *world = *state;
	uint32_t image;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	tables_need(&world->tables, object_of(HOLE), first_made);
	finish(HOLE, COMPILER_WHOLE);
	finish(HOLE, COMPILER_NEAR);
	collect(world, 2);
	assert_published(world, HOLE, TABLE_READY);
	image = world->slots[HOLE].current;
	assert_int_equal(image, 1);
	assert_true(has_row_at(world, last_made));
	assert_int_equal(object_of(HOLE)->table.nr_published, 2);
}

static void cfi_table_stays_when_rows_from_code_fail(void **state)
{
	struct world *world = *state;
	uint64_t bytes;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	bytes = used_bytes(world);
	tables_need(&world->tables, object_of(HOLE), first_made);
	fail_job(HOLE, COMPILER_NEAR, -EOWNERDEAD);
	collect(world, 1);
	assert_published(world, HOLE, TABLE_PARTIAL);
	fail_job(HOLE, COMPILER_WHOLE, -EOWNERDEAD);
	collect(world, 1);
	assert_published(world, HOLE, TABLE_READY);
	assert_int_equal(world->slots[HOLE].current, 0);
	assert_cfi_is_there(world, HOLE);
	assert_int_equal(used_bytes(world), bytes);
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_int_equal(compiler.nr_jobs, 0);
}

/* The rows from code cost more than they may: the table has those of the CFI. */
static void refuse_rows(uint32_t id, enum compiler_part part)
{
	const struct job cfi = { .part = COMPILER_CFI };
	struct table *table = compile(id, &cfi);

	begin_job(id, part);
	table->stats.synth_refused = 1;
	table->stats.synth_left = part == COMPILER_NEAR;
	done(id, part, table, 0);
}

static unsigned int nr_lines; /* of the log */

static void count_line(void *ctx, const char *line, size_t size)
{
	(void)ctx, (void)line, (void)size;
	nr_lines++;
}

static void rows_that_cost_too_much_are_refused_once(void **state)
{
	struct world *world = *state;
	struct profile_tables stats;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	nr_lines = 0;
	fpl_log_set_writer(count_line, NULL);
	tables_need(&world->tables, object_of(HOLE), first_made);
	refuse_rows(HOLE, COMPILER_NEAR);
	collect(world, 1);
	assert_published(world, HOLE, TABLE_PARTIAL);
	assert_int_equal(object_of(HOLE)->table.nr_published, 1);
	assert_int_equal(nr_lines, 0);
	/* and not tried around another sample, at the same price */
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_false(object_of(HOLE)->table.near_queued);
	refuse_rows(HOLE, COMPILER_WHOLE);
	collect(world, 1);
	assert_published(world, HOLE, TABLE_READY);
	assert_cfi_is_there(world, HOLE);
	assert_int_equal(nr_lines, 1);
	fpl_log_set_writer(NULL, NULL);
	tables_stats(&world->tables, &stats);
	assert_int_equal(stats.synth_refused, 1);
}

static void rows_around_samples_stay_where_all_cost_too_much(void **state)
{
	struct world *world = *state;
	struct profile_tables stats;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	tables_need(&world->tables, object_of(HOLE), first_made);
	finish(HOLE, COMPILER_NEAR);
	collect(world, 1);
	refuse_rows(HOLE, COMPILER_WHOLE);
	collect(world, 1);
	assert_published(world, HOLE, TABLE_READY);
	assert_int_equal(object_of(HOLE)->table.nr_published, 2);
	assert_true(has_row_at(world, first_made));
	assert_false(has_row_at(world, last_made));
	tables_stats(&world->tables, &stats);
	assert_int_equal(stats.synth_refused, 1);
	tables_need(&world->tables, object_of(HOLE), last_made);
	assert_int_equal(compiler.nr_jobs, 0);
}

static void rows_that_cannot_be_asked_for_are_given_up(void **state)
{
	struct world *world = *state;

	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	compiler.is_full = true;
	tables_need(&world->tables, object_of(HOLE), first_made);
	assert_published(world, HOLE, TABLE_READY);
	assert_false(object_of(HOLE)->table.near_queued || object_of(HOLE)->table.whole_queued);
}

/* The file was written to between the two. */
static void assert_other_pages_are_not_published(struct world *world, enum compiler_part part,
						 enum table_phase want)
{
	compiler.is_slow = true;
	publish_cfi(world, HOLE);
	tables_need(&world->tables, object_of(HOLE), first_made);
	begin_job(HOLE, part);
	done(HOLE, part, table_of_pattern(4096, 7), 0);
	collect(world, 1);
	assert_published(world, HOLE, want);
	assert_int_equal(world->slots[HOLE].current, 0);
	assert_int_equal(object_of(HOLE)->table.nr_published, 1);
	assert_cfi_is_there(world, HOLE);
}

static void a_whole_table_of_other_pages_is_not_published(void **state)
{
	assert_other_pages_are_not_published(*state, COMPILER_WHOLE, TABLE_READY);
}

static void a_whole_table_of_nearly_the_same_pages_is_not_published(void **state)
{
	static const struct {
		int64_t first_pages, nr_pages;
	} differences[] = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };
	struct world *world = *state;

	publish_cfi(world, HOLE);
	for (size_t i = 0; i < ARRAY_SIZE(differences); i++) {
		struct job job;
		struct table *table;

		object_of(HOLE)->table.phase = TABLE_PARTIAL;
		tables_need(&world->tables, object_of(HOLE), first_made);
		job = begin_job(HOLE, COMPILER_WHOLE);
		table = compile(HOLE, &job);
		table->first_vaddr += (uint64_t)(differences[i].first_pages * 0x10000);
		table->nr_pages += (uint32_t)differences[i].nr_pages;
		done(HOLE, COMPILER_WHOLE, table, 0);
		collect(world, 1);
		assert_published(world, HOLE, TABLE_READY);
		assert_int_equal(object_of(HOLE)->table.nr_published, 1);
		assert_false(has_row_at(world, first_made));
	}
}

static void rows_around_a_sample_of_other_pages_are_not_published(void **state)
{
	assert_other_pages_are_not_published(*state, COMPILER_NEAR, TABLE_PARTIAL);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tables_world_set_up, tables_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_table_is_made_once_and_published),
		TEST(tables_that_were_asked_for_are_counted),
		TEST(a_file_without_a_table_is_published_as_such),
		TEST(refused_job_is_asked_again),
		TEST(a_table_that_came_with_the_headers_is_published_once),
		TEST(awaited_table_is_hastened_once),
		TEST(rows_from_code_come_when_a_sample_needs_them),
		TEST(rows_around_samples_come_first_for_slow_files),
		TEST(rows_around_samples_are_made_a_few_times_only),
		TEST(samples_do_not_wait_for_rows_from_code_that_take_long),
		TEST(rows_that_came_in_time_are_not_late),
		TEST(waiting_objects_are_bounded),
		TEST(rows_around_a_sample_that_come_after_all_are_dropped),
		TEST(cfi_table_stays_when_rows_from_code_fail),
		TEST(rows_that_cost_too_much_are_refused_once),
		TEST(rows_around_samples_stay_where_all_cost_too_much),
		TEST(rows_that_cannot_be_asked_for_are_given_up),
		TEST(a_whole_table_of_other_pages_is_not_published),
		TEST(a_whole_table_of_nearly_the_same_pages_is_not_published),
		TEST(rows_around_a_sample_of_other_pages_are_not_published),
	};

	return cmocka_run_group_tests(tests, tables_world_open, tables_world_close);
}
