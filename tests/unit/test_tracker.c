/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profile/collect.h"
#include "profile/record.h"
#include "profile/tracker.h"

#define NR_ENTRIES 256u

/* The answers of the kernel side, set by the tests; pids above those of any machine. */
#define PID   0x7ffffff0u
#define CHILD 0x7ffffff1u

#define VSYSCALL_ADDR 0xffffffffff600000ull

struct world {
	uint64_t gens[2]; /* of PID and CHILD */
	struct fpl_mapset published[2];
	struct fpl_mapping entries[NR_ENTRIES];
	struct parser *parser;
	struct catalog *catalog;
	struct publisher publisher;
	struct tracker tracker;
};

static uint64_t fake_gen(void *ctx, uint32_t pid)
{
	struct world *world = ctx;

	return pid == PID || pid == CHILD ? world->gens[pid - PID] : 0;
}

static int fake_update(void *ctx, uint32_t pid, const struct fpl_mapset *value)
{
	struct world *world = ctx;

	if (pid == PID || pid == CHILD)
		world->published[pid - PID] = *value;
	return 0;
}

static int fake_read_all(void *ctx, uint32_t *pids, struct fpl_mapset *values, uint32_t max)
{
	(void)ctx, (void)pids, (void)values, (void)max;
	return 0;
}

static void fake_remove(void *ctx, uint32_t pid)
{
	(void)ctx, (void)pid;
}

static void fake_grace(void *ctx)
{
	(void)ctx;
}

static const struct publisher_ops fake_ops = {
	.update = fake_update,
	.read_all = fake_read_all,
	.remove = fake_remove,
	.grace = fake_grace,
};

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	if (!world || parser_create(PARSER_FORK, &world->parser, NULL) ||
	    catalog_create(16, world->parser, &world->catalog, NULL) ||
	    tracker_init(&world->tracker, world->catalog, NULL) ||
	    publisher_init(&world->publisher,
			   &(struct publisher_config){ .entries = world->entries,
						       .nr_entries = NR_ENTRIES,
						       .nr_mapsets = 16,
						       .catalog = world->catalog,
						       .processes = &world->tracker.processes,
						       .ops = &fake_ops,
						       .ctx = world }))
		return -1;
	tracker_begin(&world->tracker, &(struct tracker_links){ .publisher = &world->publisher,
								.kernel_gen = fake_gen,
								.ctx = world });
	return 0;
}

static int drop_world(void **state)
{
	struct world *world = *state;

	tracker_fini(&world->tracker);
	publisher_fini(&world->publisher);
	catalog_destroy(world->catalog);
	parser_destroy(world->parser);
	free(world);
	return 0;
}

/* Collect is given no stack. */
static struct intake no_store;
static struct intakes no_stacks = { .now = &no_store };

static void begin_collect(struct world *world, struct collect *collect,
			  bool (*is_followed)(void *ctx, uint32_t pid), void *ctx)
{
	assert_int_equal(
		collect_init(collect, &(struct collect_config){ .tracker = &world->tracker,
								.intakes = &no_stacks,
								.is_followed = is_followed,
								.ctx = ctx,
								.bytes_max = COLLECT_BYTES_MIN }),
		0);
}

static void side_map(struct world *world, uint32_t pid, uint64_t start, uint32_t object,
		     uint64_t time_ns)
{
	struct sideband_record record = { .type = SIDEBAND_MAP, .pid = pid, .time_ns = time_ns };
	struct tracked_map map = {
		.mapping = { .start = start, .end = start + 0x1000, .object = object }
	};

	tracker_sideband(&world->tracker, &record, &map);
}

static void side(struct world *world, enum sideband_type type, uint32_t pid, uint32_t parent)
{
	struct sideband_record record = {
		.type = type, .pid = pid, .tid = pid, .parent = parent, .time_ns = 50
	};

	tracker_sideband(&world->tracker, &record, NULL);
}

static void life(struct world *world, uint32_t type, uint32_t pid, uint32_t parent, uint64_t gen)
{
	struct fpl_life record = {
		.header = { .type = type }, .gen = gen, .tgid = pid, .parent = parent
	};

	tracker_life(&world->tracker, &record);
}

/* The object that a sample of image @gen finds at @addr; 0: none, or it cannot be said. */
static uint32_t sample_finds(struct world *world, uint32_t pid, uint64_t gen, uint64_t addr)
{
	struct fpl_sample sample = { .tgid = pid, .tid = pid, .gen = gen };
	struct process *process =
		tracker_sample(&world->tracker, &sample, &(struct tracker_try){ 0 });
	const struct fpl_mapping *map = process ? mapset_find(process->mapset, addr) : NULL;

	return map ? map->object : 0;
}

/* Start a program: exec, its mapping at 0x1000, the kernel side's word on its gen. */
static void start_program(struct world *world, uint32_t pid, uint32_t object, uint64_t gen)
{
	side(world, SIDEBAND_EXEC, pid, 0);
	side_map(world, pid, 0x1000, object, 100);
	life(world, FPL_RECORD_EXEC, pid, 0, gen);
	world->gens[pid - PID] = gen;
}

static void exec_and_map_are_published_with_the_gen(void **state)
{
	struct world *world = *state;

	start_program(world, PID, 1, 7);
	tracker_flush(&world->tracker);
	assert_int_equal(world->published[0].gen, 7);
	assert_int_equal(world->published[0].nr, 1);
	assert_int_equal(sample_finds(world, PID, 7, 0x1800), 1);

	uint32_t version = world->published[0].version;

	side_map(world, PID, 0x5000, 2, 200);
	tracker_flush(&world->tracker);
	assert_int_equal(world->published[0].nr, 2);
	assert_true(world->published[0].version > version);
}

static void a_sample_of_the_image_before_finds_nothing_of_the_new(void **state)
{
	struct world *world = *state;

	start_program(world, PID, 1, 7);
	start_program(world, PID, 2, 8);
	assert_int_equal(sample_finds(world, PID, 7, 0x1800), 0);
	assert_int_equal(sample_finds(world, PID, 8, 0x1800), 2);
}

static void a_sample_between_an_exec_and_its_gen_spoils_nothing(void **state)
{
	struct world *world = *state;

	/* the process was not known: its first sample, in the midst of execve, gives it a gen */
	side(world, SIDEBAND_EXEC, PID, 0);
	assert_int_equal(sample_finds(world, PID, 3, 0x1800), 0);
	assert_true(processes_find(&world->tracker.processes, PID)->exec_pending);
	side_map(world, PID, 0x1000, 1, 100);
	life(world, FPL_RECORD_EXEC, PID, 0, 4);
	world->gens[0] = 4;
	assert_int_equal(sample_finds(world, PID, 4, 0x1800), 1);
	assert_int_equal(sample_finds(world, PID, 3, 0x1800), 0);
	assert_false(processes_find(&world->tracker.processes, PID)->exec_pending);
}

static void an_exec_whose_side_band_record_was_lost_is_noticed(void **state)
{
	struct world *world = *state;

	start_program(world, PID, 1, 7);
	life(world, FPL_RECORD_EXEC, PID, 0, 8);
	world->gens[0] = 8;
	assert_int_equal(sample_finds(world, PID, 8, 0x1800), 0);
	/* and by a sample alone, where both records were */
	start_program(world, PID, 2, 9);
	world->gens[0] = 10;
	assert_int_equal(sample_finds(world, PID, 10, 0x1800), 0);
}

/* The side-band's and the kernel side's records of one fork, in either order, or one of them. */
static void a_child_inherits_whichever_record_comes_first(void **state)
{
	static const struct {
		const char *what;
		bool side_first, life;
	} cases[] = {
		{ "side-band, life", true, true },
		{ "side-band lost", false, true },
		{ "life lost", true, false },
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t gen = 20 + 10 * i;

		start_program(world, PID, 1, gen);
		if (cases[i].side_first)
			side(world, SIDEBAND_FORK, CHILD, PID);
		if (cases[i].life)
			life(world, FPL_RECORD_FORK, CHILD, PID, gen + 1);
		world->gens[1] = gen + 1;
		/* the parent goes on to something else */
		side_map(world, PID, 0x1000, 3, 300);
		if (sample_finds(world, CHILD, gen + 1, 0x1800) != 1 ||
		    sample_finds(world, PID, gen, 0x1800) != 3)
			fail_msg("%s", cases[i].what);
		tracker_flush(&world->tracker);
		assert_int_equal(world->published[1].gen, gen + 1);
		life(world, FPL_RECORD_EXIT, CHILD, 0, gen + 1);
		life(world, FPL_RECORD_EXIT, PID, 0, gen);
		assert_null(processes_find(&world->tracker.processes, CHILD));
	}
}

/* The kernel side gives a child the mapset of its parent. */
static void a_child_is_published_when_it_differs_from_its_parent(void **state)
{
	static const struct {
		const char *what;
		uint64_t fork_ns; /* CLOCK_MONOTONIC */
		bool parent_maps, child_maps, is_published;
	} cases[] = {
		{ "as the parent was published", UINT64_MAX, false, false, false },
		{ "forked before that", 1, false, false, true },
		{ "the parent mapped more", UINT64_MAX, true, false, true },
		{ "the child maps more", UINT64_MAX, false, true, true },
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t gen = 20 + 10 * i;
		const struct fpl_life fork = { .header = { .type = FPL_RECORD_FORK,
							   .time_ns = cases[i].fork_ns },
					       .gen = gen + 1,
					       .tgid = CHILD,
					       .parent = PID };

		start_program(world, PID, 1, gen);
		tracker_flush(&world->tracker);
		if (cases[i].parent_maps)
			side_map(world, PID, 0x5000, 2, 200);
		tracker_life(&world->tracker, &fork);
		if (cases[i].child_maps)
			side_map(world, CHILD, 0x5000, 2, 200);
		tracker_flush(&world->tracker);
		if ((world->published[1].gen == gen + 1) != cases[i].is_published)
			fail_msg("%s", cases[i].what);
		life(world, FPL_RECORD_EXIT, CHILD, 0, gen + 1);
	}
}

static void a_reused_pid_has_nothing_of_its_predecessor(void **state)
{
	static const struct {
		const char *what;
		bool exit_told, side_told;
	} cases[] = {
		{ "all told", true, true },
		{ "exit lost", false, true },
		{ "exit and side-band lost", false, false },
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t gen = 40 + 10 * i;

		start_program(world, PID, 1, gen);
		start_program(world, CHILD, 2, gen + 1);
		if (cases[i].exit_told)
			life(world, FPL_RECORD_EXIT, CHILD, 0, gen + 1);
		if (cases[i].side_told)
			side(world, SIDEBAND_FORK, CHILD, PID);
		life(world, FPL_RECORD_FORK, CHILD, PID, gen + 2);
		world->gens[1] = gen + 2;
		if (sample_finds(world, CHILD, gen + 2, 0x1800) != 1)
			fail_msg("%s", cases[i].what);
		if (sample_finds(world, CHILD, gen + 1, 0x1800) != 0)
			fail_msg("%s: old image", cases[i].what);
	}
}

static void the_end_of_a_leader_is_not_the_end_of_a_target(void **state)
{
	struct world *world = *state;

	start_program(world, PID, 1, 7);
	side(world, SIDEBAND_EXIT, PID, 0);
	assert_int_equal(sample_finds(world, PID, 7, 0x1800), 1);

	/* a process without samples has only side-band records */
	side_map(world, CHILD, 0x1000, 1, 100);
	assert_non_null(processes_find(&world->tracker.processes, CHILD));
	side(world, SIDEBAND_EXIT, CHILD, 0);
	assert_null(processes_find(&world->tracker.processes, CHILD));
}

static void a_process_that_ran_before_is_read_from_proc(void **state)
{
	struct world *world = *state;
	struct fpl_sample sample = { .tgid = (uint32_t)getpid(), .tid = (uint32_t)getpid() };
	struct process *process =
		tracker_sample(&world->tracker, &sample, &(struct tracker_try){ 0 });
	const struct fpl_mapping *map;

	assert_non_null(process);
	map = mapset_find(process->mapset, (uintptr_t)make_world);
	assert_non_null(map);
	assert_true(map->flags & FPL_MAPPING_MAIN);

	const struct object *object = catalog_at(world->catalog, map->object);

	assert_non_null(object);
	assert_true((uintptr_t)make_world - map->bias < object->max_vaddr);
	/* the functions of libc are in another object, which is not main */
	map = mapset_find(process->mapset, (uintptr_t)getpid);
	assert_non_null(map);
	assert_true(map->object && map->object != object->id);
	assert_false(map->flags & FPL_MAPPING_MAIN);
	assert_int_equal(world->tracker.nr_scans, 1);
	/* the kernel's page of old system calls is no code that a process makes */
	assert_null(mapset_find(process->mapset, VSYSCALL_ADDR));
}

static void lost_records_make_everything_be_read_again(void **state)
{
	struct world *world = *state;
	struct sideband_record lost = { .type = SIDEBAND_LOST, .nr_lost = 3 };

	start_program(world, PID, 1, 7);
	tracker_sideband(&world->tracker, &lost, NULL);
	tracker_flush(&world->tracker);
	assert_int_equal(world->tracker.nr_lost, 3);
	assert_true(world->tracker.nr_scans > 0);
	/* there is no such process: what is known of it stays, but is no longer trusted */
	assert_false(processes_find(&world->tracker.processes, PID)->complete);
}

/* Records that come in one order and happened in another. */
static void collect_applies_by_time_up_to_the_horizon(void **state)
{
	struct world *world = *state;
	struct collect collect;
	struct fpl_life exec = {
		.header = { .type = FPL_RECORD_EXEC, .size = sizeof(exec), .time_ns = 300 },
		.gen = 7,
		.tgid = PID,
	};
	struct fpl_life fork = {
		.header = { .type = FPL_RECORD_FORK, .size = sizeof(fork), .time_ns = 400 },
		.gen = 8,
		.tgid = CHILD,
		.parent = PID,
	};
	struct sideband_record map = { .type = SIDEBAND_MAP,
				       .pid = PID,
				       .time_ns = 200,
				       .start = 0x1000,
				       .size = 0x1000,
				       .path = "//anon" };
	struct sideband_record started = {
		.type = SIDEBAND_EXEC, .pid = PID, .time_ns = 100, .path = ""
	};

	begin_collect(world, &collect, NULL, NULL);
	assert_int_equal(collect_ring_record(&collect, &fork, sizeof(fork)), 0);
	assert_int_equal(collect_ring_record(&collect, &exec, sizeof(exec)), 0);
	collect_sideband_record(&map, &collect);
	collect_sideband_record(&started, &collect);
	collect_apply(&collect, 99);
	assert_int_equal(collect_nr_pending(&collect), 4);
	collect_apply(&collect, 300);
	assert_int_equal(collect_nr_pending(&collect), 1);
	assert_null(processes_find(&world->tracker.processes, CHILD));
	assert_int_equal(processes_find(&world->tracker.processes, PID)->gen, 7);
	assert_int_equal(processes_find(&world->tracker.processes, PID)->mapset->nr, 1);
	collect_apply(&collect, UINT64_MAX);
	assert_int_equal(processes_find(&world->tracker.processes, CHILD)->gen, 8);
	assert_int_equal(processes_find(&world->tracker.processes, CHILD)->mapset->nr, 1);
	collect_fini(&collect);
}

/* The kernel side follows what is listed, and counts how often it was asked. */
struct following {
	uint32_t pids[2];
	int nr_asked;
};

static bool follows(void *ctx, uint32_t pid)
{
	struct following *following = ctx;

	following->nr_asked++;
	return pid == following->pids[0] || pid == following->pids[1];
}

static void send_side(struct collect *collect, enum sideband_type type, uint32_t pid,
		      uint32_t parent)
{
	const struct sideband_record record = {
		.type = type, .pid = pid, .tid = pid, .parent = parent, .path = ""
	};

	collect_sideband_record(&record, collect);
}

static void children_of_unprofiled_processes_are_dropped(void **state)
{
	struct world *world = *state;
	struct following following = { .pids = { PID } };
	struct fpl_life fork = {
		.header = { .type = FPL_RECORD_FORK, .size = sizeof(fork) },
		.gen = 1,
		.tgid = 500,
		.parent = PID,
	};
	struct collect collect;

	begin_collect(world, &collect, follows, &following);
	/* one question about whoever starts all of them */
	for (uint32_t pid = 500; pid < 600; pid++) {
		send_side(&collect, SIDEBAND_FORK, pid, 400);
		send_side(&collect, SIDEBAND_EXEC, pid, 0);
		send_side(&collect, SIDEBAND_EXIT, pid, 0);
	}
	assert_int_equal(following.nr_asked, 1);
	assert_int_equal(collect_nr_pending(&collect), 0);

	/* a number of an unprofiled process, reused by a target's child, in both orders of news */
	following.pids[1] = 501;
	send_side(&collect, SIDEBAND_FORK, 501, PID);
	assert_int_equal(collect_nr_pending(&collect), 1);
	assert_int_equal(collect_ring_record(&collect, &fork, sizeof(fork)), 0);
	send_side(&collect, SIDEBAND_EXEC, 500, 0);
	assert_int_equal(collect_nr_pending(&collect), 3);
	send_side(&collect, SIDEBAND_EXEC, 502, 0);
	assert_int_equal(collect_nr_pending(&collect), 3);
	collect_fini(&collect);
}

static void collect_counts_records_that_do_not_hold_together(void **state)
{
	struct world *world = *state;
	struct fpl_sample sample = { .header = { .type = FPL_RECORD_STACK }, .nr_user = 1 };
	struct fpl_record_header alone = { .type = FPL_RECORD_SNAPSHOT };
	struct fpl_record_header unknown[8] = { { .type = 99 } };
	struct collect collect;

	begin_collect(world, &collect, NULL, NULL);
	collect_ring_record(&collect, &sample, sizeof(sample));
	sample.nr_user = 0, sample.nr_fp = 1;
	collect_ring_record(&collect, &sample, sizeof(sample));
	collect_ring_record(&collect, &alone, sizeof(alone));
	collect_ring_record(&collect, unknown, sizeof(unknown));
	sample.header.type = FPL_RECORD_SNAPSHOT;
	collect_ring_record(&collect, &sample, sizeof(sample));
	assert_int_equal(collect.nr_malformed, 5);
	collect_fini(&collect);
}

/* A snapshot of PID in image 7 at 0x1800, with what the frame pointers gave, as the kernel side
 * sends it where it knows none of the mappings. */
static struct snapshot *make_snapshot(void)
{
	struct snapshots snapshots = { 0 };
	struct snapshot *snapshot;
	static const uint64_t fp[] = { 0x1800, 0x5800, 0x9800 };
	size_t size = sizeof(struct fpl_sample) + sizeof(fp) + sizeof(struct fpl_regs) +
		      sizeof(struct fpl_hole) + sizeof(struct fpl_shared);
	AUTO_FREE struct fpl_sample *record = calloc(1, size);

	assert_non_null(record);
	record->header.type = FPL_RECORD_SNAPSHOT;
	record->header.size = (uint32_t)size;
	record->gen = 7;
	record->tgid = record->tid = PID;
	record->count = 1;
	record->nr_fp = ARRAY_SIZE(fp);
	for (size_t i = 0; i < ARRAY_SIZE(fp); i++)
		((uint64_t *)(record + 1))[i] = (uint64_t)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT |
						FPL_FRAME_RAW | fp[i] | (i ? 0 : FPL_FRAME_EXACT);

	struct fpl_regs *regs = (struct fpl_regs *)((uint64_t *)(record + 1) + ARRAY_SIZE(fp));

	regs->pc = 0x1800;
	regs->exact = 1;
	assert_int_equal(snapshots_take(&snapshots, record, size, &snapshot), 0);
	snapshots_fini(&snapshots);
	return snapshot;
}

/* Equal pcs must compare equal, whoever walked and wherever. */
static void a_snapshot_brings_both_walks_under_the_same_names(void **state)
{
	struct world *world = *state;
	static const struct fpl_object objects[1];
	struct pool pool = { 0 };
	struct stack_store *store;
	struct replayer replayer;
	struct profile_stack *stacks;
	const uint64_t where = ~(3ull << FPL_FRAME_ORIGIN_SHIFT);
	size_t nr;

	start_program(world, PID, 1, 7);
	side_map(world, PID, 0x5000, 2, 200);
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	struct intake intake = { .store = store };
	struct intakes intakes = { .now = &intake };

	replayer_init(&replayer, &(struct replayer_config){ .tracker = &world->tracker,
							    .objects = objects,
							    .nr_objects = ARRAY_SIZE(objects),
							    .pool = &pool,
							    .intakes = &intakes,
							    .max_depth = 100 });
	replayer_add(&replayer, make_snapshot(), &(struct tracker_try){ 0 });
	assert_int_equal(stack_store_take(store, &stacks, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(stacks[0].count, 1);
	assert_int_equal(stacks[0].nr_user, 1);
	assert_int_equal(stacks[0].nr_fp, 3);

	const uint64_t *fp = stacks[0].frames + 1;

	assert_int_equal(stacks[0].frames[0] >> FPL_FRAME_ORIGIN_SHIFT, FPL_ORIGIN_CFI_USER);
	assert_int_equal(fp[0] >> FPL_FRAME_ORIGIN_SHIFT, FPL_ORIGIN_FP);
	assert_int_equal(stacks[0].frames[0] & where, fp[0] & where);
	assert_int_equal(fp[0] & where, FPL_FRAME_EXACT | 1ull << FPL_FRAME_OBJECT_SHIFT | 0x1800);
	assert_int_equal(fp[1] & where, 2ull << FPL_FRAME_OBJECT_SHIFT | 0x5800);
	assert_int_equal(fp[2] & where, FPL_FRAME_RAW | 0x9800);
	free(stacks[0].frames);
	free(stacks);
	stack_store_destroy(store);
	replayer_fini(&replayer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(exec_and_map_are_published_with_the_gen),
		TEST(a_sample_of_the_image_before_finds_nothing_of_the_new),
		TEST(a_sample_between_an_exec_and_its_gen_spoils_nothing),
		TEST(an_exec_whose_side_band_record_was_lost_is_noticed),
		TEST(a_child_inherits_whichever_record_comes_first),
		TEST(a_child_is_published_when_it_differs_from_its_parent),
		TEST(a_reused_pid_has_nothing_of_its_predecessor),
		TEST(the_end_of_a_leader_is_not_the_end_of_a_target),
		TEST(a_process_that_ran_before_is_read_from_proc),
		TEST(lost_records_make_everything_be_read_again),
		TEST(collect_applies_by_time_up_to_the_horizon),
		TEST(children_of_unprofiled_processes_are_dropped),
		TEST(collect_counts_records_that_do_not_hold_together),
		TEST(a_snapshot_brings_both_walks_under_the_same_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
