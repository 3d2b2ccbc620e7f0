/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/publisher.h"

#define NR_ENTRIES 64u
#define NR_PIDS	   32u

/* The kernel side: the map `mapsets` by pid, and what on_fork does to it. */
struct fake_kernel {
	struct fpl_mapset mapsets[NR_PIDS];
	bool present[NR_PIDS];
	bool full;
	unsigned nr_graces;
};

static int fake_update(void *ctx, uint32_t pid, const struct fpl_mapset *value)
{
	struct fake_kernel *kernel = ctx;

	if (kernel->full)
		return -E2BIG;
	assert_true(pid < NR_PIDS);
	kernel->mapsets[pid] = *value;
	kernel->present[pid] = true;
	return 0;
}

static int fake_read_all(void *ctx, uint32_t *pids, struct fpl_mapset *values, uint32_t max)
{
	struct fake_kernel *kernel = ctx;
	uint32_t nr = 0;

	for (uint32_t pid = 0; pid < NR_PIDS && nr < max; pid++) {
		if (!kernel->present[pid])
			continue;
		pids[nr] = pid;
		values[nr++] = kernel->mapsets[pid];
	}
	return (int)nr;
}

static void fake_remove(void *ctx, uint32_t pid)
{
	((struct fake_kernel *)ctx)->present[pid] = false;
}

static void fake_grace(void *ctx)
{
	((struct fake_kernel *)ctx)->nr_graces++;
}

static const struct publisher_ops fake_ops = {
	.update = fake_update,
	.read_all = fake_read_all,
	.remove = fake_remove,
	.grace = fake_grace,
};

static void fake_fork(struct fake_kernel *kernel, uint32_t parent, uint32_t child, uint64_t gen)
{
	kernel->mapsets[child] = kernel->mapsets[parent];
	kernel->mapsets[child].gen = gen;
	kernel->present[child] = true;
}

struct world {
	struct fake_kernel kernel;
	struct fpl_mapping entries[NR_ENTRIES];
	struct processes processes;
	struct publisher publisher;
	struct catalog *catalog;
};

static void retire(void *ctx, const struct run *run)
{
	publisher_retire(&((struct world *)ctx)->publisher, run);
}

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	if (!world || processes_init(&world->processes, retire, world) ||
	    catalog_create(16, NULL, &world->catalog, NULL))
		return -1;
	return publisher_init(&world->publisher,
			      &(struct publisher_config){ .entries = world->entries,
							  .nr_entries = NR_ENTRIES,
							  .nr_mapsets = NR_PIDS,
							  .catalog = world->catalog,
							  .processes = &world->processes,
							  .ops = &fake_ops,
							  .ctx = &world->kernel });
}

static int drop_world(void **state)
{
	struct world *world = *state;

	processes_fini(&world->processes);
	publisher_fini(&world->publisher);
	catalog_destroy(world->catalog);
	free(world);
	return 0;
}

/* A process with @nr mappings of object @object, image @gen, published. */
static struct process *publish_new(struct world *world, uint32_t pid, uint64_t gen, uint32_t nr,
				   uint32_t object)
{
	struct process *p = processes_get(&world->processes, pid);

	assert_non_null(p);
	for (uint32_t i = 0; i < nr; i++) {
		struct fpl_mapping map = { .start = 0x10000ull * (i + 1),
					   .end = 0x10000ull * (i + 1) + 0x1000,
					   .object = object };

		assert_int_equal(mapset_add(&p->mapset, &map), 0);
	}
	p->gen = gen;
	p->dirty = true;
	publisher_publish(&world->publisher, p);
	return p;
}

/* The id of the object that a walk of @pid finds at @addr, 0: not found. */
static uint32_t kernel_finds(const struct world *world, uint32_t pid, uint64_t gen, uint64_t addr)
{
	const struct fpl_mapset *set = &world->kernel.mapsets[pid];

	if (!world->kernel.present[pid] || set->gen != gen)
		return 0;
	for (uint32_t i = set->first; i < set->first + set->nr; i++) {
		if (addr >= world->entries[i].start && addr < world->entries[i].end)
			return world->entries[i].object;
	}
	return 0;
}

static void walk_finds_published_mappings(void **state)
{
	struct world *world = *state;
	struct process *p = publish_new(world, 5, 77, 3, 9);

	assert_int_equal(kernel_finds(world, 5, 77, 0x20800), 9);
	assert_int_equal(kernel_finds(world, 5, 77, 0x21000), 0);
	assert_int_equal(kernel_finds(world, 5, 78, 0x20800), 0);
	assert_int_equal(world->kernel.mapsets[5].version, 1);
	assert_false(p->dirty);

	/* nothing changed: nothing is written */
	publisher_publish(&world->publisher, p);
	assert_int_equal(world->kernel.mapsets[5].version, 1);
	p->dirty = true;
	publisher_publish(&world->publisher, p);
	assert_int_equal(world->kernel.mapsets[5].version, 2);
}

/* The kernel side trusts its memory by serial: a serial is given once, and 0 never. */
static void each_publication_has_a_serial_of_its_own(void **state)
{
	struct world *world = *state;
	struct process *p = publish_new(world, 5, 77, 3, 9);
	uint32_t first = world->kernel.mapsets[5].serial;

	assert_int_not_equal(first, 0);
	assert_int_equal(world->kernel.mapsets[5].check,
			 fpl_mapset_check(&world->kernel.mapsets[5]));
	p->dirty = true;
	publisher_publish(&world->publisher, p);
	assert_int_equal(world->kernel.mapsets[5].serial, first + 1);
	publish_new(world, 6, 78, 3, 9);
	assert_int_equal(world->kernel.mapsets[6].serial, first + 2);
	world->publisher.serial = UINT32_MAX - 1;
	for (int i = 0; i < 3; i++) {
		p->dirty = true;
		publisher_publish(&world->publisher, p);
		assert_int_equal(world->kernel.mapsets[5].serial, i ? 0 : UINT32_MAX);
	}
}

static void nothing_is_published_before_the_gen_is_known(void **state)
{
	struct world *world = *state;

	publish_new(world, 5, 0, 3, 9);
	assert_false(world->kernel.present[5]);
}

static void space_comes_back_when_it_is_needed(void **state)
{
	struct world *world = *state;
	struct process *p = publish_new(world, 5, 77, 20, 9);

	/* each publication leaves a retired run of 20 behind; 64 entries hold three */
	for (unsigned i = 0; i < 50; i++) {
		p->dirty = true;
		publisher_publish(&world->publisher, p);
		assert_int_equal(kernel_finds(world, 5, 77, 0x20800), 9);
	}
	assert_int_equal(world->publisher.nr_refused, 0);
	assert_true(world->kernel.nr_graces > 0);
}

static void a_run_the_kernel_gave_to_a_child_is_not_reused(void **state)
{
	struct world *world = *state;
	struct process *parent = publish_new(world, 5, 77, 10, 9);

	/* the fork happened, but its record is not read yet; the parent changes and changes */
	fake_fork(&world->kernel, 5, 6, 78);
	assert_non_null(processes_get(&world->processes, 6));
	for (unsigned i = 0; i < 30; i++) {
		parent->dirty = true;
		publisher_publish(&world->publisher, parent);
		publish_new(world, 7, 100 + i, 1, 1 + i % 3);
		processes_remove(&world->processes, 7);
		assert_int_equal(kernel_finds(world, 6, 78, 0x20800), 9);
	}
	/* once the child is gone, its run is free like the others */
	fake_remove(&world->kernel, 6);
	processes_remove(&world->processes, 6);
	processes_remove(&world->processes, 5);
	fake_remove(&world->kernel, 5);
	fake_remove(&world->kernel, 7);
	publisher_collect(&world->publisher);
	assert_int_equal(world->publisher.space.in_use, 0);
	assert_int_equal(world->publisher.retired.nr, 0);
	assert_int_equal(world->publisher.retired_entries, 0);
}

static void mapsets_of_the_dead_are_swept(void **state)
{
	struct world *world = *state;

	publish_new(world, 5, 77, 10, 9);
	processes_remove(&world->processes, 5); /* published just after the kernel's on_exit */
	publisher_collect(&world->publisher);
	assert_false(world->kernel.present[5]);
	assert_int_equal(world->publisher.space.in_use, 0);
}

static void without_room_a_process_stays_unpublished_and_is_counted(void **state)
{
	struct world *world = *state;

	publish_new(world, 5, 77, 40, 9);
	publish_new(world, 6, 78, 40, 9);
	assert_false(world->kernel.present[6]);
	assert_int_equal(world->publisher.nr_refused, 1);
	assert_int_equal(kernel_finds(world, 5, 77, 0x20800), 9);

	/* the same where the map `mapsets` is full: the run is not leaked */
	world->kernel.full = true;
	publish_new(world, 7, 79, 10, 9);
	assert_false(world->kernel.present[7]);
	world->kernel.full = false;
	publisher_collect(&world->publisher);
	assert_int_equal(world->publisher.space.in_use, 40);
}

#define HOSTILE	  4242u /* users: not who runs the test */
#define BYSTANDER 4243u

/* As publish_new(), of a user's process. */
static struct process *publish_of(struct world *world, uint64_t owner, uint32_t pid, uint32_t nr)
{
	struct process *process = processes_get(&world->processes, pid);

	assert_non_null(process);
	process->has_owner = true;
	process->owner = owner;
	return publish_new(world, pid, pid + 70, nr, 9);
}

static bool is_found(const struct world *world, uint32_t pid)
{
	return kernel_finds(world, pid, pid + 70, 0x10800) == 9;
}

/* @hostile has most of the room, and others want some. */
static void take_share(void **state, uint64_t hostile)
{
	struct world *world = *state;
	struct process *large = publish_of(world, hostile, 5, 40);

	publish_of(world, hostile, 6, 20);
	assert_true(is_found(world, 5) && is_found(world, 6));
	publish_of(world, BYSTANDER, 7, 10);
	assert_true(is_found(world, 7));
	assert_false(is_found(world, 5)); /* the largest one went, and no other */
	assert_true(is_found(world, 6));
	assert_true(large->dirty);
	assert_int_equal(world->publisher.nr_refused, 0);

	/* beyond its share it gets nothing that others could want */
	world->publisher.next_share_ns = 0;
	publish_of(world, hostile, 4, 40);
	assert_false(is_found(world, 4));
	assert_true(is_found(world, 7));
	assert_int_equal(world->publisher.nr_beyond_share, 1);
	/* its process that went, and the one that did not come */
	assert_int_equal(share_used(&world->publisher.refused, hostile), 2);
	assert_int_equal(share_used(&world->publisher.refused, BYSTANDER), 0);
	/* where there is room it may have it */
	publish_of(world, hostile, 3, 30);
	assert_true(is_found(world, 3));
}

static void who_has_more_than_his_share_of_the_room_makes_some(void **state)
{
	take_share(state, HOSTILE);
}

static void so_does_a_cgroup_of_root(void **state)
{
	take_share(state, owner_of_cgroup("/a.slice/b.scope", 0));
}

static void root_has_no_share_of_the_room(void **state)
{
	struct world *world = *state;

	publish_of(world, 0, 5, 60);
	publish_of(world, BYSTANDER, 7, 10);
	assert_true(is_found(world, 5));
	assert_false(is_found(world, 7));
	assert_int_equal(world->publisher.nr_refused, 1);
	assert_int_equal(world->publisher.nr_beyond_share, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(walk_finds_published_mappings),
		TEST(each_publication_has_a_serial_of_its_own),
		TEST(nothing_is_published_before_the_gen_is_known),
		TEST(space_comes_back_when_it_is_needed),
		TEST(a_run_the_kernel_gave_to_a_child_is_not_reused),
		TEST(mapsets_of_the_dead_are_swept),
		TEST(who_has_more_than_his_share_of_the_room_makes_some),
		TEST(so_does_a_cgroup_of_root),
		TEST(root_has_no_share_of_the_room),
		TEST(without_room_a_process_stays_unpublished_and_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
