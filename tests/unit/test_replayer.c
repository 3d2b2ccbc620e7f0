/* SPDX-License-Identifier: Apache-2.0 */
/* Whose snapshots wait for tables: over processes and objects made here, in place of a tracker. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/replayer.h"
#include "profile/table_use.h"

#define HOSTILE	  4242u /* users: not who runs the test */
#define BYSTANDER 4243u
#define STACK	  4096u
#define ROOM	  (64u * 1024)

static struct process processes[2]; /* of the two, by pid */
static struct object late = { .id = 1, .slot = 1, .table.phase = TABLE_QUEUED };
static unsigned int nr_stops[FPL_STOP_COUNT]; /* of the stacks that came out */
static const struct stack_store *last_store;  /* of the last one */

struct process *tracker_sample(struct tracker *tracker, const struct fpl_sample *sample,
			       struct tracker_try *try)
{
	(void)tracker, (void)try;
	return &processes[sample->tgid];
}

bool tracker_rescan(struct tracker *tracker, struct process *process, uint32_t tid,
		    struct tracker_try *try)
{
	(void)tracker, (void)process, (void)tid, (void)try;
	return false;
}

void tracker_raw(struct tracker *tracker, struct process *process, uint64_t gen,
		 const uint64_t *frames, size_t nr)
{
	(void)gen;
	(void)frames;
	(void)nr;
	(void)tracker, (void)process;
}

void tracker_mark_mapset(const struct tracker *tracker, const struct mapset *set, uint64_t round)
{
	(void)tracker, (void)set, (void)round;
}

struct object *catalog_at(const struct catalog *catalog, uint32_t id)
{
	(void)catalog;
	return id == late.id ? &late : NULL;
}

void tables_need(struct tables *tables, struct object *object, uint64_t vaddr)
{
	(void)tables, (void)object, (void)vaddr;
}

void tables_wait_no_more(struct tables *tables, struct object *object)
{
	(void)tables, (void)object;
}

int stack_store_add(struct stack_store *store, const struct fpl_sample *sample,
		    const uint64_t *user, const uint64_t *rest)
{
	(void)user, (void)rest;
	last_store = store;
	nr_stops[sample->stop]++;
	return 0;
}

uint32_t stack_store_last(const struct stack_store *store)
{
	(void)store;
	return 0;
}

void table_use_note(const struct catalog *catalog, const uint64_t *user, size_t nr_user,
		    uint8_t stop, uint64_t count, uint64_t look)
{
	(void)catalog, (void)user, (void)nr_user, (void)stop, (void)count, (void)look;
}

void timeline_sample(struct timeline *timeline, const struct fpl_sample *sample, uint32_t stack)
{
	(void)timeline, (void)sample, (void)stack;
}

/* A snapshot of the process, in code whose table is missing. */
static struct snapshot *make_snapshot(uint32_t pid)
{
	struct snapshots snapshots = { 0 };
	struct snapshot *snapshot;
	size_t size = sizeof(struct fpl_sample) + sizeof(struct fpl_regs) +
		      sizeof(struct fpl_hole) + sizeof(struct fpl_shared) + STACK;
	AUTO_FREE struct fpl_sample *record = calloc(1, size);
	struct fpl_regs *regs = (struct fpl_regs *)(record + 1);

	assert_non_null(record);
	record->header.type = FPL_RECORD_SNAPSHOT;
	record->header.size = (uint32_t)size;
	record->tgid = record->tid = pid;
	record->count = 1;
	regs->pc = 0x1800;
	regs->exact = 1;
	regs->stack_size = STACK;
	assert_int_equal(snapshots_take(&snapshots, record, size, &snapshot), 0);
	snapshots_fini(&snapshots);
	return snapshot;
}

struct world {
	struct tracker tracker;
	struct fpl_object slots[2];
	struct pool pool;
	struct intake intake;
	struct intakes intakes;
	struct replayer replayer;
};

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	const struct fpl_mapping mapping = {
		.start = 0x1000, .end = 0x2000, .object = 1, .slot = 1
	};

	*state = world;
	if (!world)
		return -1;
	memset(nr_stops, 0, sizeof(nr_stops));
	for (uint32_t i = 0; i < ARRAY_SIZE(processes); i++) {
		processes[i] = (struct process){ .pid = i,
						 .mapset = mapset_create(),
						 .has_owner = true,
						 .owner = i ? BYSTANDER : HOSTILE };
		if (!processes[i].mapset || mapset_add(&processes[i].mapset, &mapping))
			return -1;
	}
	world->intakes.now = &world->intake;
	replayer_init(&world->replayer,
		      &(struct replayer_config){ .tracker = &world->tracker,
						 .objects = world->slots,
						 .nr_objects = ARRAY_SIZE(world->slots),
						 .pool = &world->pool,
						 .intakes = &world->intakes,
						 .max_depth = 100,
						 .waiting_max = ROOM });
	return 0;
}

static int drop_world(void **state)
{
	struct world *world = *state;

	replayer_fini(&world->replayer);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		mapset_put(processes[i].mapset);
	free(world);
	return 0;
}

/* Snapshots come without end of @owner, and now and then of another. */
static void fill_half(void **state, uint64_t owner)
{
	struct world *world = *state;
	struct replayer *replayer = &world->replayer;

	processes[0].owner = owner;
	for (unsigned int i = 0; i < 100; i++)
		replayer_add(replayer, make_snapshot(0), &(struct tracker_try){ 0 });
	assert_true(nr_stops[FPL_STOP_BURST] > 50);
	assert_true(replayer->waiting_bytes <= ROOM / 2);
	assert_int_equal(share_used(&replayer->refused, owner), nr_stops[FPL_STOP_BURST]);
	nr_stops[FPL_STOP_BURST] = 0;
	for (unsigned int i = 0; i < 4; i++)
		replayer_add(replayer, make_snapshot(1), &(struct tracker_try){ 0 });
	assert_int_equal(nr_stops[FPL_STOP_BURST], 0);
	assert_int_equal(share_used(&replayer->refused, BYSTANDER), 0);

	/* what waited no more leaves room again */
	late.table.phase = TABLE_NO_CFI;
	replayer_retry(replayer);
	late.table.phase = TABLE_QUEUED;
	assert_int_equal(replayer->waiting_bytes, 0);
	assert_int_equal(share_used(&replayer->waiting_of, owner), 0);
	assert_int_equal(share_used(&replayer->waiting_of, BYSTANDER), 0);
}

static void one_user_fills_half_of_the_room_for_waiting(void **state)
{
	fill_half(state, HOSTILE);
}

static void a_cgroup_of_root_fills_half_of_it_too(void **state)
{
	fill_half(state, owner_of_cgroup("/a.slice/b.scope", 0));
}

static void root_may_fill_all_of_it(void **state)
{
	struct world *world = *state;

	processes[0].owner = 0;
	for (unsigned int i = 0; i < 100; i++)
		replayer_add(&world->replayer, make_snapshot(0), &(struct tracker_try){ 0 });
	assert_true(world->replayer.waiting_bytes > ROOM * 3 / 4);
	assert_true(world->replayer.nr_overflows);
	assert_int_equal(world->replayer.nr_beyond_share, 0);
}

/* Only the address of a store is looked at. */
static struct stack_store *store_at(void *place)
{
	return place;
}

static void those_of_a_window_that_has_ended_wait_no_longer(void **state)
{
	static const uint64_t times[] = { 5, 20, 7 };
	struct world *world = *state;
	struct replayer *replayer = &world->replayer;
	struct intake before = { .store = store_at(&before) };

	world->intake.store = store_at(world);
	world->intakes.before = &before;
	world->intakes.since_ns = 10;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct snapshot *snapshot = make_snapshot(1);

		snapshot->sample->header.time_ns = times[i];
		replayer_add(replayer, snapshot, &(struct tracker_try){ 0 });
	}
	assert_false(replayer_has_samples(replayer, 5));
	assert_true(replayer_has_samples(replayer, 10));
	replayer_settle(replayer, 10);
	assert_int_equal(nr_stops[FPL_STOP_NO_TABLE], 2);
	assert_ptr_equal(last_store, before.store);
	assert_false(replayer_has_samples(replayer, 10));
	assert_true(replayer_has_samples(replayer, 21));

	/* the other one is at its end of the line, and goes into its own window */
	replayer_add(replayer, make_snapshot(1), &(struct tracker_try){ 0 });
	assert_true(replayer_has_samples(replayer, 10));
	replayer_settle(replayer, UINT64_MAX);
	assert_int_equal(nr_stops[FPL_STOP_NO_TABLE], 4);
	assert_int_equal(replayer->waiting_bytes, 0);
	assert_int_equal(share_used(&replayer->waiting_of, BYSTANDER), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_user_fills_half_of_the_room_for_waiting),
		TEST(a_cgroup_of_root_fills_half_of_it_too),
		TEST(root_may_fill_all_of_it),
		TEST(those_of_a_window_that_has_ended_wait_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
