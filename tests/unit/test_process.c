/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "proc/process.h"

static unsigned nr_retired;

static void count_retired(void *ctx, const struct run *run)
{
	(void)ctx;
	nr_retired += run->nr;
}

static int make_table(void **state)
{
	struct processes *table = calloc(1, sizeof(*table));

	nr_retired = 0;
	*state = table;
	return table ? processes_init(table, count_retired, NULL) : -1;
}

static int drop_table(void **state)
{
	processes_fini(*state);
	free(*state);
	return 0;
}

static void map_object(struct process *process, uint64_t start, uint32_t object, uint64_t time_ns)
{
	struct fpl_mapping map = {
		.start = start, .end = start + 0x1000, .object = object, .slot = (uint16_t)object
	};

	assert_int_equal(process_map(process, &map, false, time_ns), 0);
}

static uint32_t object_at(const struct process *process, uint64_t addr)
{
	const struct fpl_mapping *map = mapset_find(process->mapset, addr);

	return map ? map->object : 0;
}

static uint16_t flags_at(const struct process *process, uint64_t addr)
{
	const struct fpl_mapping *map = mapset_find(process->mapset, addr);

	assert_non_null(map);
	return map->flags;
}

static void a_process_is_found_by_pid_until_removed(void **state)
{
	struct processes *table = *state;

	/* two in one bucket, and one by itself */
	assert_non_null(processes_get(table, 5));
	assert_non_null(processes_get(table, 5 + 1024));
	assert_non_null(processes_get(table, 6));
	assert_int_equal(table->nr, 3);
	assert_ptr_equal(processes_get(table, 5), processes_find(table, 5));
	processes_remove(table, 5);
	assert_null(processes_find(table, 5));
	assert_int_equal(processes_find(table, 1029)->pid, 1029);
	processes_remove(table, 5);
	assert_int_equal(table->nr, 2);
}

static void exec_forgets_the_old_program(void **state)
{
	struct process *p = processes_get(*state, 10);

	assert_non_null(p);
	map_object(p, 0x1000, 1, 100);
	assert_true(process_gen(p, 7));
	assert_int_equal(process_exec(p), 0);
	assert_int_equal(p->mapset->nr, 0);
	assert_int_equal(p->gen, 0);
	assert_true(p->complete);
	/* a late sample of the old image must not be taken for the new one */
	assert_false(process_gen(p, 7));
	assert_true(process_gen(p, 8));
	assert_true(process_gen(p, 8));
	assert_false(process_gen(p, 9));
}

static void exec_flags_main_object_and_interpreter(void **state)
{
	struct process *p = processes_get(*state, 10);
	struct fpl_mapping vdso = { .start = 0x9000, .end = 0xa000, .object = 3 };

	assert_non_null(p);
	assert_int_equal(process_exec(p), 0);
	map_object(p, 0x1000, 1, 100);
	map_object(p, 0x3000, 1, 101); /* its second executable segment */
	map_object(p, 0x5000, 2, 102);
	assert_int_equal(process_map(p, &vdso, true, 103), 0);
	map_object(p, 0x7000, 4, 104);
	map_object(p, 0xb000, 1, 105); /* mapped again, by dlopen */
	assert_int_equal(flags_at(p, 0x1000), FPL_MAPPING_MAIN);
	assert_int_equal(flags_at(p, 0x3000), FPL_MAPPING_MAIN);
	assert_int_equal(flags_at(p, 0x5000), FPL_MAPPING_INTERP);
	assert_int_equal(flags_at(p, 0x9000), 0);
	assert_int_equal(flags_at(p, 0x7000), 0);
	assert_int_equal(flags_at(p, 0xb000), FPL_MAPPING_MAIN);
}

static void a_static_program_has_no_interpreter(void **state)
{
	struct process *p = processes_get(*state, 10);
	struct fpl_mapping vdso = { .start = 0x9000, .end = 0xa000, .object = 3 };

	assert_non_null(p);
	assert_int_equal(process_exec(p), 0);
	map_object(p, 0x1000, 1, 100);
	assert_int_equal(process_map(p, &vdso, true, 101), 0);
	map_object(p, 0x5000, 2, 102);
	assert_int_equal(flags_at(p, 0x5000), 0);
	assert_int_equal(p->interp_object, 0);
}

static void a_child_has_the_mappings_of_its_parent_at_the_fork(void **state)
{
	struct process *parent = processes_get(*state, 10);
	struct process *child = processes_get(*state, 11);

	assert_non_null(parent);
	assert_non_null(child);
	parent->complete = true;
	map_object(parent, 0x1000, 1, 100);
	assert_true(process_gen(parent, 7));
	process_fork(child, parent, 0);
	map_object(parent, 0x1000, 2, 101);
	assert_int_equal(object_at(child, 0x1000), 1);
	assert_int_equal(object_at(parent, 0x1000), 2);
	map_object(child, 0x3000, 3, 102);
	assert_int_equal(object_at(parent, 0x3000), 0);
	assert_int_equal(child->gen, 0);
	assert_true(child->complete);
	assert_true(child->dirty);
}

static void a_run_is_retired_with_its_last_holder(void **state)
{
	struct processes *table = *state;
	struct process *parent = processes_get(table, 10);
	struct process *child = processes_get(table, 11);
	struct run *run = calloc(1, sizeof(*run)), *other = calloc(1, sizeof(*other));

	assert_non_null(parent);
	assert_non_null(child);
	assert_non_null(run);
	assert_non_null(other);
	*run = (struct run){ .refs = 1, .first = 0, .nr = 3 };
	*other = (struct run){ .refs = 1, .first = 3, .nr = 5 };
	process_set_run(table, parent, run);
	process_fork(child, parent, 0);
	process_set_run(table, parent, other);
	assert_int_equal(nr_retired, 0);
	processes_remove(table, 11);
	assert_int_equal(nr_retired, 3);
	processes_remove(table, 10);
	assert_int_equal(nr_retired, 8);
}

static void a_scan_outdates_the_records_before_it(void **state)
{
	struct process *p = processes_get(*state, 10);
	struct mapset *scanned = mapset_create();
	struct fpl_mapping map = { .start = 0x1000, .end = 0x2000, .object = 5 };

	assert_non_null(p);
	assert_non_null(scanned);
	assert_int_equal(mapset_add(&scanned, &map), 0);
	process_scanned(p, scanned, 1000);
	assert_true(p->complete);
	map_object(p, 0x1000, 1, 999); /* what /proc has replaced already */
	assert_int_equal(object_at(p, 0x1000), 5);
	map_object(p, 0x1000, 1, 1001);
	assert_int_equal(object_at(p, 0x1000), 1);
}

static void a_scan_with_no_news_makes_nothing_dirty(void **state)
{
	struct process *p = processes_get(*state, 10);

	assert_non_null(p);
	map_object(p, 0x1000, 1, 100);
	p->dirty = false;
	for (uint32_t object = 1; object <= 2; object++) {
		struct mapset *set = mapset_create();
		struct fpl_mapping map = {
			.start = 0x1000, .end = 0x2000, .object = object, .slot = (uint16_t)object
		};

		assert_non_null(set);
		assert_int_equal(mapset_add(&set, &map), 0);
		process_scanned(p, set, 200);
		assert_int_equal(p->dirty, object == 2);
	}
}

static void scans_pause_ever_longer_up_to_a_second(void **state)
{
	struct process *p = processes_get(*state, 10);
	uint64_t now = 1, last = 0;
	unsigned nr = 0;

	assert_non_null(p);
	for (; now < 20000000000u; now += 500000) {
		if (!process_may_scan(p, now))
			continue;
		nr++;
		if (last)
			assert_true(now - last <= 1000500000u);
		last = now;
	}
	/* 10 while the pause doubles from 1 ms to 1 s, then one a second */
	assert_in_range(nr, 25, 32);
	assert_int_equal(process_exec(p), 0);
	assert_true(process_may_scan(p, last + 1));
}

static void code_in_the_place_of_other_code_makes_a_process_restless_for_a_second(void **state)
{
	struct process *p = processes_get(*state, 10);

	assert_non_null(p);
	map_object(p, 0x1000, 1, 100);
	map_object(p, 0x1000, 1, 200); /* the same again: mprotect */
	map_object(p, 0x2000, 2, 300); /* beside it */
	assert_false(p->restless);
	map_object(p, 0x1000, 3, 400);
	assert_true(p->restless);
	p->dirty = false;
	assert_false(process_settles(p, 400 + 999999999));
	assert_true(p->restless && !p->dirty);
	assert_true(process_settles(p, 400 + 1000000000));
	assert_true(!p->restless && p->dirty);
	assert_false(process_settles(p, UINT64_MAX));

	map_object(p, 0x1000, 4, 2000000000);
	assert_true(p->restless);
	assert_int_equal(process_exec(p), 0);
	assert_false(p->restless);
}

/* Notes the pids it is called with; what it publishes is dirty no more. */
struct visits {
	uint32_t pids[8];
	size_t nr;
	bool publishes;
};

static uint64_t region_at(const struct process *process, uint64_t addr)
{
	const struct fpl_mapping *map = mapset_find(process->mapset, addr);

	assert_non_null(map);
	return map->bias;
}

static void code_without_an_object_has_the_first_of_its_regions(void **state)
{
	static const struct process_region regions[] = { { 0x3400, 0x3500, 7 },
							 { 0x3000, 0x4000, 8 },
							 { 0, 1ull << 47, 9 } };
	const struct fpl_mapping shared = { .start = 0x3000,
					    .end = 0x4000,
					    .flags = FPL_MAPPING_ANON | FPL_MAPPING_SHARED };
	const struct fpl_mapping other = { .start = 0x8000,
					   .end = 0x9000,
					   .flags = FPL_MAPPING_ANON };
	struct process *process = processes_get(*state, 1);

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(process_add_region(process, regions[i].start, regions[i].end,
						    regions[i].ref),
				 0);
	map_object(process, 0x1000, 1, 10);
	assert_int_equal(process_map(process, &other, false, 20), 0);
	/* all of it lies in one */
	assert_int_equal(region_at(process, 0x8000), 9);
	for (uint64_t i = 0; i < 3; i++) {
		/* mapped anew it has none, since it lies in parts of several */
		assert_int_equal(process_map(process, &shared, false, 30 + i), 0);
		assert_int_equal(region_at(process, 0x3400), 0);
		process_place_regions(process);
		assert_int_equal(region_at(process, 0x33ff), 8);
		assert_int_equal(region_at(process, 0x3400), 7);
		assert_int_equal(region_at(process, 0x34ff), 7);
		assert_int_equal(region_at(process, 0x3500), 8);
		assert_int_equal(region_at(process, 0x8000), 9);
		assert_int_equal(region_at(process, 0x1000), 0);
		assert_int_equal(process->mapset->nr, 5);
		assert_int_equal(flags_at(process, 0x3400), shared.flags);
	}
	process->dirty = false;
	process_place_regions(process);
	assert_false(process->dirty);
}

static void visit(struct process *process, void *ctx)
{
	struct visits *visits = ctx;

	assert_true(visits->nr < 8);
	visits->pids[visits->nr++] = process->pid;
	if (visits->publishes)
		process->dirty = false;
}

static size_t nr_visited(struct processes *table, bool publishes)
{
	struct visits visits = { .publishes = publishes };

	processes_each_changed(table, visit, &visits);
	return visits.nr;
}

static void only_changed_wanted_processes_are_visited(void **state)
{
	struct processes *table = *state;
	struct process *p = processes_get(table, 10), *q = processes_get(table, 11);

	assert_true(p && q);
	p->dirty = q->dirty = true;
	processes_note(table, p);
	assert_int_equal(nr_visited(table, true), 0); /* it is not wanted */
	p->wanted = q->wanted = true;
	assert_int_equal(nr_visited(table, true), 0); /* not noted since */
	processes_note(table, p);
	processes_note(table, p);
	processes_note(table, q);
	assert_int_equal(nr_visited(table, false), 2);
	assert_int_equal(nr_visited(table, true), 2); /* they were not published */
	assert_int_equal(nr_visited(table, true), 0);
	processes_note(table, p);
	assert_int_equal(nr_visited(table, true), 0); /* it is not dirty */
	p->restless = true;
	processes_note(table, p);
	assert_int_equal(nr_visited(table, true), 1);
	assert_int_equal(nr_visited(table, true), 1); /* until it is not */
	p->restless = false;
	assert_int_equal(nr_visited(table, true), 1);
	assert_int_equal(nr_visited(table, true), 0);
}

static void removed_process_is_not_visited(void **state)
{
	struct processes *table = *state;

	/* each of the three places in the list */
	for (uint32_t gone = 20; gone < 23; gone++) {
		struct visits visits = { .publishes = true };

		for (uint32_t pid = 20; pid < 23; pid++) {
			struct process *p = processes_get(table, pid);

			assert_non_null(p);
			p->wanted = p->dirty = true;
			processes_note(table, p);
		}
		processes_remove(table, gone);
		processes_each_changed(table, visit, &visits);
		assert_int_equal(visits.nr, 2);
		assert_true(visits.pids[0] != gone && visits.pids[1] != gone);
		assert_int_equal(nr_visited(table, true), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_table, drop_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_found_by_pid_until_removed),
		TEST(code_without_an_object_has_the_first_of_its_regions),
		TEST(only_changed_wanted_processes_are_visited),
		TEST(removed_process_is_not_visited),
		TEST(exec_forgets_the_old_program),
		TEST(exec_flags_main_object_and_interpreter),
		TEST(a_static_program_has_no_interpreter),
		TEST(a_child_has_the_mappings_of_its_parent_at_the_fork),
		TEST(a_run_is_retired_with_its_last_holder),
		TEST(a_scan_outdates_the_records_before_it),
		TEST(a_scan_with_no_news_makes_nothing_dirty),
		TEST(scans_pause_ever_longer_up_to_a_second),
		TEST(code_in_the_place_of_other_code_makes_a_process_restless_for_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
