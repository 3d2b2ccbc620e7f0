/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a process wait for what is looked up for it, those of others do not. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/collect.h"
#include "profile/lookups.h"
#include "profile/tracker.h"

/* Above the numbers of any machine. */
#define SLOW  0x7ffffff0u
#define OTHER 0x7ffffff1u
#define CHILD 0x7ffffff2u
#define GEN   5u

/* The tests answer the lookups, in place of another thread. */
static struct lookup *asked[16];
static size_t nr_asked, nr_taken;
static bool may_answer;

static int ask(struct lookup *lookup)
{
	assert_true(nr_asked < ARRAY_SIZE(asked));
	asked[nr_asked++] = lookup;
	return 0;
}

int lookups_file(struct lookups *lookups, const struct file_hint *hint, bool vdso, uint64_t uid,
		 struct lookup **ret)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	(void)lookups, (void)vdso;
	assert_non_null(lookup);
	lookup->kind = LOOKUP_FILE;
	lookup->turn.owner = uid;
	lookup->file.hint.pid = hint->pid;
	*ret = lookup;
	return ask(lookup);
}

int lookups_process(struct lookups *lookups, uint32_t pid, uint32_t tid, uint64_t gen, uint64_t uid)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	(void)lookups, (void)tid, (void)uid;
	assert_non_null(lookup);
	lookup->kind = LOOKUP_PROCESS;
	lookup->process.pid = pid;
	lookup->process.gen = gen;
	return ask(lookup);
}

int lookups_jvm(struct lookups *lookups, uint32_t pid, uint64_t gen, uint64_t base, uint64_t uid)
{
	(void)lookups, (void)pid, (void)gen, (void)base, (void)uid;
	fail();
	return 0;
}

int lookups_made(struct lookups *lookups, uint32_t pid, uint64_t gen,
		 const struct made_question *question, uint64_t uid)
{
	(void)lookups, (void)pid, (void)gen, (void)question, (void)uid;
	fail();
	return 0;
}

void lookups_again(struct lookups *lookups, struct lookup *lookup)
{
	(void)lookups, (void)lookup;
	fail();
}

void lookups_code(struct lookups *lookups, const struct code_event *event)
{
	(void)lookups, (void)event;
}

struct lookup *lookups_take(struct lookups *lookups)
{
	(void)lookups;
	if (!may_answer || nr_taken == nr_asked)
		return NULL;
	asked[nr_taken]->is_done = true;
	return asked[nr_taken++];
}

void lookup_free(struct lookup *lookup)
{
	free(lookup);
}

struct world {
	struct parser *parser;
	struct catalog *catalog;
	struct tracker tracker;
	struct stack_store *store;
	struct intake intake;
	struct intakes intakes;
	struct collect collect;
};

static uint64_t fake_gen(void *ctx, uint32_t pid)
{
	(void)ctx, (void)pid;
	return GEN;
}

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	nr_asked = nr_taken = 0;
	may_answer = false;
	if (!world || parser_create(PARSER_FORK, &world->parser, NULL) ||
	    catalog_create(16, world->parser, &world->catalog, NULL) ||
	    tracker_init(&world->tracker, world->catalog, NULL) ||
	    stack_store_create(1 << 20, &world->store))
		return -1;
	tracker_begin(&world->tracker, &(struct tracker_links){
					       /* the doubles do not look at it */
					       .lookups = (struct lookups *)world,
					       .kernel_gen = fake_gen,
				       });
	world->intake.store = world->store;
	world->intakes.now = &world->intake;
	return collect_init(&world->collect,
			    &(struct collect_config){ .tracker = &world->tracker,
						      .intakes = &world->intakes,
						      .bytes_max = COLLECT_BYTES_MIN });
}

static int drop_world(void **state)
{
	struct world *world = *state;

	stack_store_destroy(world->store);
	collect_fini(&world->collect);
	/* the test owns lookups not taken */
	for (; nr_taken < nr_asked; nr_taken++)
		lookup_free(asked[nr_taken]);
	tracker_fini(&world->tracker);
	catalog_destroy(world->catalog);
	parser_destroy(world->parser);
	free(world);
	return 0;
}

static void exec(struct world *world, uint32_t pid, uint64_t time_ns)
{
	collect_sideband_record(
		&(struct sideband_record){
			.type = SIDEBAND_EXEC, .pid = pid, .tid = pid, .time_ns = time_ns },
		&world->collect);
}

static void fork_child(struct world *world, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	collect_sideband_record(&(struct sideband_record){ .type = SIDEBAND_FORK,
							   .pid = pid,
							   .tid = pid,
							   .parent = parent,
							   .time_ns = time_ns },
				&world->collect);
}

/* @path: of a file, which is looked up, or "//anon". */
static void map(struct world *world, uint32_t pid, const char *path, uint64_t start,
		uint64_t time_ns)
{
	collect_sideband_record(&(struct sideband_record){ .type = SIDEBAND_MAP,
							   .pid = pid,
							   .tid = pid,
							   .start = start,
							   .size = 0x1000,
							   .path = path,
							   .time_ns = time_ns },
				&world->collect);
}

/* A stack with a frame in no mapping, of a process nothing else was heard of. */
static void stack(struct world *world, uint32_t pid, uint64_t time_ns)
{
	struct {
		struct fpl_sample sample;
		uint64_t frame;
	} record = {
		.sample = { .header = { .type = FPL_RECORD_STACK,
					.size = sizeof(record),
					.time_ns = time_ns },
			    .tgid = pid,
			    .tid = pid,
			    .gen = GEN,
			    .count = 1,
			    .nr_user = 1,
			    .flags = FPL_SAMPLE_RAW },
		.frame = FPL_FRAME_RAW | 0x5000,
	};

	assert_int_equal(collect_ring_record(&world->collect, &record, sizeof(record)), 0);
}

static bool has_map(struct world *world, uint32_t pid, uint64_t addr)
{
	const struct process *process = processes_find(&world->tracker.processes, pid);

	return process && mapset_find(process->mapset, addr);
}

static void answer(struct world *world)
{
	may_answer = true;
	tracker_take_answers(&world->tracker);
}

static void events_of_a_process_wait_for_its_file(void **state)
{
	struct world *world = *state;

	exec(world, SLOW, 10);
	map(world, SLOW, "/silent", 0x1000, 20);
	map(world, SLOW, "//anon", 0x3000, 30);
	exec(world, OTHER, 15);
	map(world, OTHER, "//anon", 0x3000, 40);
	collect_apply(&world->collect, 100);
	assert_false(has_map(world, SLOW, 0x1000));
	assert_false(has_map(world, SLOW, 0x3000));
	assert_true(has_map(world, OTHER, 0x3000));
	assert_int_equal(world->collect.nr, 2);
	assert_int_equal(collect_nr_pending(&world->collect), 0);
	collect_apply(&world->collect, 200);
	assert_int_equal(world->collect.nr, 2);

	answer(world);
	collect_apply(&world->collect, 300);
	assert_true(has_map(world, SLOW, 0x1000));
	assert_true(has_map(world, SLOW, 0x3000));
	assert_int_equal(world->collect.nr, 0);
}

/* The kernel side has told of the exec by the time at which its mappings are read. */
static void files_of_an_exec_are_charged_to_the_user_that_was_told(void **state)
{
	struct world *world = *state;
	struct fpl_life life = {
		.header = { .type = FPL_RECORD_EXEC, .size = sizeof(life), .time_ns = 50 },
		.gen = GEN,
		.tgid = SLOW,
		.euid = 4242,
	};

	map(world, SLOW, "/early", 0x1000, 20);
	assert_int_equal(collect_ring_record(&world->collect, &life, sizeof(life)), 0);
	map(world, SLOW, "/silent", 0x1000, 40);
	map(world, OTHER, "/silent", 0x1000, 40);
	map(world, SLOW, "/later", 0x3000, 60);
	assert_int_equal(nr_asked, 4);
	assert_int_not_equal(asked[0]->turn.owner, 4242);
	assert_int_equal(asked[1]->turn.owner, 4242);
	assert_int_not_equal(asked[2]->turn.owner, 4242);
	assert_int_not_equal(asked[3]->turn.owner, 4242);
	answer(world);
	collect_apply(&world->collect, 100);
}

/* The record of another CPU came late: the mapping that it takes away is younger than it. */
static void what_waits_is_applied_in_order_of_time(void **state)
{
	struct world *world = *state;

	map(world, SLOW, "/silent", 0x1000, 20);
	map(world, SLOW, "//anon", 0x3000, 30);
	collect_apply(&world->collect, 100);
	exec(world, SLOW, 10);
	map(world, OTHER, "//anon", 0x3000, 15);
	collect_apply(&world->collect, 200);
	assert_int_equal(world->collect.nr, 3);
	assert_true(has_map(world, OTHER, 0x3000));

	answer(world);
	collect_apply(&world->collect, 300);
	assert_int_equal(world->collect.nr, 0);
	assert_true(has_map(world, SLOW, 0x1000));
	assert_true(has_map(world, SLOW, 0x3000));
}

static void a_child_waits_with_its_parent(void **state)
{
	struct world *world = *state;

	exec(world, SLOW, 10);
	map(world, SLOW, "/silent", 0x1000, 20);
	fork_child(world, CHILD, SLOW, 30);
	map(world, CHILD, "//anon", 0x3000, 40);
	collect_apply(&world->collect, 100);
	assert_null(processes_find(&world->tracker.processes, CHILD));
	assert_int_equal(world->collect.nr, 3);

	answer(world);
	collect_apply(&world->collect, 200);
	assert_true(has_map(world, CHILD, 0x1000));
	assert_true(has_map(world, CHILD, 0x3000));
	assert_int_equal(world->collect.nr, 0);
}

static void a_stack_waits_until_its_process_was_looked_up(void **state)
{
	struct world *world = *state;
	struct profile_stack *stacks = NULL;
	size_t nr;

	stack(world, SLOW, 10);
	map(world, SLOW, "//anon", 0x3000, 20);
	collect_apply(&world->collect, 100);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(asked[0]->kind, LOOKUP_PROCESS);
	assert_true(tracker_is_waiting(&world->tracker, SLOW));
	assert_int_equal(world->collect.nr, 2);
	assert_int_equal(stack_store_nr(world->store), 0);

	/* its answer is that it has gone: the stack is counted all the same, and not asked again */
	asked[0]->process.code = -ESRCH;
	answer(world);
	assert_false(tracker_is_waiting(&world->tracker, SLOW));
	collect_apply(&world->collect, 200);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(world->collect.nr, 0);
	assert_int_equal(stack_store_take(world->store, &stacks, &nr), 0);
	assert_int_equal(nr, 1);
	free(stacks[0].frames);
	free(stacks);
}

static void at_the_end_nothing_is_waited_for(void **state)
{
	struct world *world = *state;

	exec(world, SLOW, 10);
	map(world, SLOW, "/silent", 0x1000, 20);
	stack(world, OTHER, 30);
	collect_apply(&world->collect, 100);
	assert_int_equal(world->collect.nr, 2);
	world->collect.is_last = true;
	collect_apply(&world->collect, 100);
	assert_int_equal(world->collect.nr, 0);
	assert_true(has_map(world, SLOW, 0x1000)); /* as one of no object */
	assert_int_equal(stack_store_nr(world->store), 1);
	assert_int_equal(world->collect.bytes, 0);
}

static void a_window_that_has_ended_waits_no_longer(void **state)
{
	struct world *world = *state;
	struct intake before = { .store = NULL };

	assert_int_equal(stack_store_create(1 << 20, &before.store), 0);
	stack(world, SLOW, 10);
	map(world, SLOW, "//anon", 0x3000, 20);
	stack(world, SLOW, 40); /* of the next one */
	collect_apply(&world->collect, 100);
	assert_int_equal(world->collect.nr, 3);

	world->intakes.before = &before;
	world->intakes.since_ns = 30;
	assert_false(collect_has_samples(&world->collect, 10));
	assert_true(collect_has_samples(&world->collect, 30));
	collect_settle(&world->collect, 30);
	assert_false(collect_has_samples(&world->collect, 30));
	assert_int_equal(stack_store_nr(before.store), 1);
	assert_int_equal(stack_store_nr(world->store), 0);
	assert_int_equal(world->collect.nr, 2);

	/* what comes after it still waits, and then has its turn */
	collect_apply(&world->collect, 150);
	assert_int_equal(world->collect.nr, 2);
	for (unsigned int i = 0; world->collect.nr && i < 3; i++) {
		for (size_t k = nr_taken; k < nr_asked; k++)
			asked[k]->process.code = -ESRCH;
		answer(world);
		collect_apply(&world->collect, 200 + i);
	}
	assert_int_equal(world->collect.nr, 0);
	assert_int_equal(world->collect.bytes, 0);
	assert_int_equal(stack_store_nr(before.store), 1);
	assert_int_equal(stack_store_nr(world->store), 1);
	stack_store_destroy(before.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_of_a_process_wait_for_its_file, make_world,
						drop_world),
		cmocka_unit_test_setup_teardown(
			files_of_an_exec_are_charged_to_the_user_that_was_told, make_world,
			drop_world),
		cmocka_unit_test_setup_teardown(what_waits_is_applied_in_order_of_time, make_world,
						drop_world),
		cmocka_unit_test_setup_teardown(a_child_waits_with_its_parent, make_world,
						drop_world),
		cmocka_unit_test_setup_teardown(a_stack_waits_until_its_process_was_looked_up,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(at_the_end_nothing_is_waited_for, make_world,
						drop_world),
		cmocka_unit_test_setup_teardown(a_window_that_has_ended_waits_no_longer, make_world,
						drop_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
