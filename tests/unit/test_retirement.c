/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An hour of a machine on which one user maps ever new files, by a clock made here: which objects
 * stay, and what they cost. The catalog and the stacks are the real ones, files are memfds; what
 * reads and names them, compiles tables and knows processes is played.
 */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "parse/client.h"
#include "proc/mapped_file.h"
#include "profile/collect.h"
#include "profile/lookups.h"
#include "profile/retirement.h"
#include "tests/support/skip_test.h"

#define HOSTILE	  4242u /* users: not who runs the test */
#define BYSTANDER 4243u
#define NR_MAPPED 16u /* files that the hostile user has mapped at once */
#define NR_SLOTS  4096u

/* The current mappings: the address of a mapping is its place. */
static struct mapping {
	int fd; /* -1: nothing */
	struct object *object;
} mappings[NR_MAPPED + 1];

static uint64_t nr_files; /* made so far: each has a build-id of its own */

int client_open(struct parser *parser, struct parse_client **ret, struct fpl_err *err)
{
	(void)parser, (void)err;
	*ret = (struct parse_client *)&nr_files;
	return 0;
}

void client_close(struct parse_client *client)
{
	(void)client;
}

uint64_t client_spent_ns(const struct parse_client *client)
{
	(void)client;
	return 0;
}

int client_file_init(struct client_file *file, int fd, const char *path)
{
	*file = (struct client_file){ .fd = fd, .path = path };
	return trust_read(fd, &file->trust);
}

int client_headers(struct parse_client *client, const struct client_file *file,
		   struct elf_file **ret, struct identity *ret_identity,
		   struct debug_link *ret_link, struct client_debugging *ret_debugging,
		   struct fpl_err *err)
{
	const struct elf_facts facts = { .build_id = (const uint8_t *)&nr_files,
					 .build_id_size = sizeof(nr_files) };

	(void)client;
	nr_files++;
	*ret_link = (struct debug_link){ .crc = 0 };
	*ret_debugging = (struct client_debugging){ .has_info = true };
	*ret_identity = (struct identity){ .build_id_size = sizeof(nr_files) };
	memcpy(ret_identity->build_id, &nr_files, sizeof(nr_files));
	return elf_file_assemble(fcntl(file->fd, F_DUPFD_CLOEXEC, 0), 0, file->path, &facts, ret,
				 err);
}

int client_facts_and_table(struct parse_client *client, const struct client_file *file,
			   struct elf_file **ret, struct identity *ret_identity,
			   struct debug_link *ret_link, struct client_debugging *ret_debugging,
			   struct table **ret_table, struct fpl_err *err)
{
	(void)ret_table;
	return client_headers(client, file, ret, ret_identity, ret_link, ret_debugging, err);
}

int client_names_digest(struct parse_client *client, const struct client_file *file,
			uint8_t ret[IDENTITY_DIGEST_SIZE], struct fpl_err *err)
{
	(void)client, (void)file, (void)ret, (void)err;
	return -ENOSYS;
}

int mapped_file_place(pid_t pid, uint64_t start, uint64_t end)
{
	(void)pid, (void)end;

	int fd = fcntl(mappings[start].fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int mapped_file_take(struct opener *opener, pid_t pid, int place_fd, const char *path,
		     struct mapped_file *ret, struct fpl_err *err)
{
	(void)opener, (void)pid;
	*ret = (struct mapped_file){ .fd = fcntl(place_fd, F_DUPFD_CLOEXEC, 0),
				     .source = MAPPED_FILE_EXACT };
	if (ret->fd < 0 || fstat(ret->fd, &ret->stat) < 0)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

int mapped_file_open_path(struct opener *opener, pid_t pid, const char *path,
			  struct mapped_file *ret, struct fpl_err *err)
{
	(void)opener, (void)pid, (void)path, (void)ret, (void)err;
	return -ENOENT;
}

void collect_mark_mapped(const struct collect *collect, uint64_t round)
{
	(void)collect, (void)round;
}

int lookups_forget(struct lookups *lookups, struct object *const *objects, size_t nr)
{
	(void)lookups, (void)objects, (void)nr;
	return -ENOSYS;
}

void tables_mark_mapped(struct tables *tables)
{
	tables->round++;
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++) {
		if (mappings[i].object)
			mappings[i].object->round = tables->round;
	}
}

bool tables_may_forget(const struct tables *tables, const struct object *object)
{
	(void)tables, (void)object;
	return true;
}

void tables_forget(struct tables *tables, struct object *const *list, size_t nr)
{
	(void)tables, (void)list, (void)nr;
}

void replayer_mark_mapped(struct replayer *replayer, uint64_t round)
{
	(void)replayer, (void)round;
}

/* A namer: an object may go at the second look, with all frames that were told of it. */
struct namer {
	uint8_t *told; /* owned [nr_ids]: frames of the object, by id; SETTLED: it may go */
	size_t nr_ids;
};

enum { SETTLED = 0x80 };

static void expect(void *ctx, const uint64_t *frames, size_t nr)
{
	struct namer *namer = ctx;

	for (size_t i = 0; i < nr; i++) {
		uint32_t id = frames[i] >> FPL_FRAME_OBJECT_SHIFT & FPL_FRAME_OBJECT_MAX;

		if (id >= namer->nr_ids) {
			namer->told = realloc(namer->told, 2 * id + 1);
			assert_non_null(namer->told);
			memset(namer->told + namer->nr_ids, 0, 2 * id + 1 - namer->nr_ids);
			namer->nr_ids = 2 * id + 1;
		}
		assert_int_equal(namer->told[id], 0);
		namer->told[id]++;
	}
}

static bool settle(void *ctx, const struct profile_object *object)
{
	struct namer *namer = ctx;
	struct stat st;

	assert_string_equal(object->path, "/home/user/program");
	assert_int_equal(fstat(object->file->fd, &st), 0);
	assert_true(object->id < namer->nr_ids);
	if (namer->told[object->id] & SETTLED)
		return true;
	assert_int_equal(namer->told[object->id], 1);
	namer->told[object->id] |= SETTLED;
	return false;
}

static bool may_go(void *ctx)
{
	(void)ctx;
	return true;
}

static void has_gone(void *ctx, const struct object *object)
{
	(void)ctx, (void)object;
}

struct world {
	struct rlimit limit; /* before */
	struct namer namer;
	struct engine_namer hooks;
	struct catalog *catalog;
	struct stack_store *store;
	struct intake intake;
	struct intakes intakes;
	struct tables tables;
	struct tracker tracker; /* without lookups */
	struct retirement retirement;
	uint32_t nr_stacks;
};

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct rlimit few = { 256, 256 };

	*state = world;
	if (!world || getrlimit(RLIMIT_NOFILE, &world->limit))
		return -1;
	few.rlim_max = world->limit.rlim_max;
	world->hooks =
		(struct engine_namer){ .expect = expect, .settle = settle, .ctx = &world->namer };
	if (setrlimit(RLIMIT_NOFILE, &few) ||
	    catalog_create(NR_SLOTS, NULL, &world->catalog, NULL) ||
	    stack_store_create(256u << 20, &world->store))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++)
		mappings[i] = (struct mapping){ .fd = -1 };
	world->intake.store = world->store;
	world->intakes.now = &world->intake;
	world->retirement.config = (struct retirement_config){ .catalog = world->catalog,
							       .tables = &world->tables,
							       .intakes = &world->intakes,
							       .tracker = &world->tracker,
							       .namer = &world->hooks,
							       .before = may_go,
							       .after = has_gone };
	return 0;
}

static int drop_world(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++)
		cleanup_fd(&mappings[i].fd);
	setrlimit(RLIMIT_NOFILE, &world->limit);
	catalog_destroy(world->catalog);
	free(world->namer.told);
	stack_store_destroy(world->store);
	free(world);
	return 0;
}

/* The user maps a new file in place of what was there. Returns its object. */
static struct object *map_new(struct world *world, size_t place, uid_t uid)
{
	struct mapping *mapping = &mappings[place];
	struct file_hint hint = {
		.pid = getpid(), .start = place, .end = place + 1, .path = "/home/user/program"
	};

	cleanup_fd(&mapping->fd);
	mapping->object = NULL;
	mapping->fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(mapping->fd >= 0);
	assert_int_equal(fchmod(mapping->fd, 0755), 0);
	assert_int_equal(fchown(mapping->fd, uid, (gid_t)-1), 0);
	mapping->object = catalog_object(world->catalog, &hint);
	return mapping->object;
}

/* A sample of a process of its own in code of the object. */
static void sample(struct world *world, const struct object *object)
{
	const uint64_t frame =
		(uint64_t)object->id << FPL_FRAME_OBJECT_SHIFT | FPL_FRAME_EXACT | 0x1000;
	struct fpl_sample record = { .count = 1, .nr_user = 1, .tgid = ++world->nr_stacks };

	assert_int_equal(stack_store_add(world->store, &record, &frame, NULL), 0);
}

static size_t nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static size_t heap_bytes(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* The maximum in use in a quarter of an hour. */
struct peak {
	size_t objects, descriptors, heap;
};

static void look_at_peak(const struct world *world, struct peak *peak)
{
	size_t objects = catalog_nr_live(world->catalog), descriptors = nr_descriptors();

	peak->heap = heap_bytes(); /* it grows by what stacks name alone */
	if (objects > peak->objects)
		peak->objects = objects;
	if (descriptors > peak->descriptors)
		peak->descriptors = descriptors;
}

/*
 * 56 files a second, 201,600 in all, under a limit of 256 descriptors; one of eight is sampled.
 * Each second a bystander's program begins, which is sampled and ends.
 */
static void an_hour_of_new_files_costs_no_bystander_a_stack(void **state)
{
	struct world *world = *state;
	const uint64_t step_ns = NS_PER_S / 56;
	struct peak peaks[4] = { 0 };
	uint64_t now = NS_PER_S;
	uint32_t bystanders[3600];
	struct profile_object *list;

	need_root();
	for (unsigned int s = 0; s < 3600; s++) {
		struct object *bystander = map_new(world, NR_MAPPED, BYSTANDER);

		assert_non_null(bystander);
		bystanders[s] = bystander->id;
		sample(world, bystander);
		for (unsigned int i = 0; i < 56; i++, now += step_ns) {
			struct object *object = map_new(world, i % NR_MAPPED, HOSTILE);

			if (object && i % 8 == 0)
				sample(world, object);
			if (i == 20) {
				cleanup_fd(&mappings[NR_MAPPED].fd);
				mappings[NR_MAPPED].object = NULL;
			}
			retirement_review(&world->retirement, now);
		}
		if (s % 20 == 0)
			look_at_peak(world, &peaks[s / 900]);
	}
	assert_true(nr_files >= 3600 * 57);
	for (size_t i = 1; i < ARRAY_SIZE(peaks); i++) {
		assert_true(peaks[i].objects <= peaks[0].objects + 8);
		assert_true(peaks[i].descriptors <= peaks[0].descriptors + 8);
	}
	print_message("objects %zu, descriptors %zu, heap %zu and %zu KiB\n", peaks[3].objects,
		      peaks[3].descriptors, peaks[0].heap >> 10, peaks[3].heap >> 10);
	/* of what is sampled: a stack, a path; of what is not, an id and a bit */
	assert_true(peaks[3].heap - peaks[0].heap < 2700u * (8 * 1000 + 57 * 32));

	/* and each is known, and was named before its file was closed */
	assert_int_equal(catalog_export(world->catalog, &list), 0);
	for (unsigned int s = 0; s < 3600; s++) {
		const struct profile_object *object = &list[bystanders[s] - 1];

		assert_string_equal(object->path, "/home/user/program");
		assert_true(object->file || world->namer.told[bystanders[s]] & SETTLED);
	}
	for (size_t i = 0; i < catalog_nr(world->catalog); i++)
		profile_object_fini(&list[i]);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_hour_of_new_files_costs_no_bystander_a_stack,
						make_world, drop_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
