/* SPDX-License-Identifier: Apache-2.0 */
/* The asking thread does not wait: over a finder made here that takes as long as a test likes. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proc/mapped_file.h"
#include "profile/jvm.h"
#include "profile/lookups.h"
#include "profile/object.h"
#include "unwind/table.h"

#define PATIENCE_MS 180000

static struct {
	sem_t begun, go;				 /* for files whose path is "slow" */
	sem_t placed;					 /* for each place */
	atomic_size_t nr_places, most_places, nr_placed; /* open at once, and looked up */
	struct object object;
	char order[128]; /* what was done: the first letter of a path, or of a kind */
	size_t nr;
	size_t nr_forgotten;
} world;

static void note(char what)
{
	assert_true(world.nr < sizeof(world.order) - 1);
	world.order[world.nr++] = what;
}

int mapped_file_place(pid_t pid, uint64_t start, uint64_t end)
{
	size_t nr = atomic_fetch_add(&world.nr_places, 1) + 1;

	(void)pid, (void)start, (void)end;
	if (nr > world.most_places)
		world.most_places = nr;
	sem_post(&world.placed);
	return open("/", O_PATH | O_CLOEXEC);
}

struct object *finder_object(struct finder *finder, const struct file_hint *hint)
{
	(void)finder;
	note(hint->path[0]);
	if (hint->place) {
		assert_true(fcntl(*hint->place, F_GETFD) >= 0);
		world.nr_placed++;
		world.nr_places--;
	}
	if (strcmp(hint->path, "tabled") == 0 && hint->table)
		*hint->table = calloc(1, sizeof(**hint->table));
	if (strcmp(hint->path, "slow") == 0) {
		sem_post(&world.begun);
		sem_wait(&world.go);
	}
	return &world.object;
}

struct object *finder_vdso(struct finder *finder)
{
	(void)finder;
	note('v');
	return NULL;
}

struct parse_client *finder_client(struct finder *finder)
{
	(void)finder;
	return NULL;
}

int jvm_describe(struct parse_client *client, uint32_t pid, uint64_t base, struct hotspot *ret,
		 struct fpl_err *err)
{
	(void)client, (void)err;
	note('J');
	*ret = (struct hotspot){ .nr_heaps = pid, .heaps = { { .start = base } } };
	return 0;
}

int jvm_made(struct parse_client *client, uint32_t pid, const struct made_question *asked,
	     struct made_code *ret, struct fpl_err *err)
{
	(void)client, (void)err;
	note('M');
	*ret = (struct made_code){ .nr = pid,
				   .pieces = { { .start = asked->bounds[0],
						 .end = asked->bounds[2 * asked->nr - 1] } } };
	return 0;
}

int jvm_open_memory(uint32_t pid)
{
	(void)pid;
	return -ESRCH;
}

void finder_forget(struct finder *finder, struct object *const *objects, size_t nr)
{
	(void)finder, (void)objects;
	note('F');
	world.nr_forgotten += nr;
}

int sighting_make(struct finder *finder, uint32_t pid, uint32_t tid, struct scan_cache *cache,
		  struct sighting *ret, struct fpl_err *err)
{
	(void)finder, (void)tid, (void)cache, (void)err;
	note('P');
	*ret = (struct sighting){ .entry = pid };
	return vector_reserve(&ret->maps, 1);
}

void sighting_fini(struct sighting *sighting)
{
	vector_fini(&sighting->maps);
}

void code_names_tell(struct code_names *names, const struct code_event *event)
{
	(void)names;
	note((char)('0' + event->kind));
}

struct code_orders *code_names_orders(struct code_names *names, uint64_t since_ns)
{
	(void)names;
	note((char)('a' + since_ns));
	return NULL;
}

void code_orders_destroy(struct code_orders *orders)
{
	assert_null(orders);
}

static struct lookups *begin(void)
{
	struct lookups *lookups = NULL;

	memset(&world, 0, sizeof(world));
	assert_int_equal(sem_init(&world.begun, 0, 0), 0);
	assert_int_equal(sem_init(&world.go, 0, 0), 0);
	assert_int_equal(sem_init(&world.placed, 0, 0), 0);
	/* the doubles above look at neither */
	assert_int_equal(lookups_begin(NULL, (struct code_names *)&world, &lookups, NULL), 0);
	return lookups;
}

static struct lookup *ask_file_of(struct lookups *lookups, const char *path, uint64_t owner)
{
	const uint8_t build_id[3] = { 1, 2, 3 };
	const struct file_hint hint = {
		.pid = 7, .path = path, .build_id = build_id, .build_id_size = sizeof(build_id)
	};
	struct lookup *lookup = NULL;

	assert_int_equal(lookups_file(lookups, &hint, false, owner, &lookup), 0);
	return lookup;
}

static struct lookup *ask_file(struct lookups *lookups, const char *path)
{
	return ask_file_of(lookups, path, 0);
}

static struct lookup *await_answer(struct lookups *lookups)
{
	struct pollfd wait = { .fd = lookups_fd(lookups), .events = POLLIN };

	assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
	return lookups_take(lookups);
}

static void who_asks_goes_on_while_a_file_is_silent(void **state)
{
	struct lookups *lookups = begin();
	struct lookup *slow = ask_file(lookups, "slow"), *other = ask_file(lookups, "other");
	struct pollfd answer = { .fd = lookups_fd(lookups), .events = POLLIN };

	(void)state;
	sem_wait(&world.begun);
	assert_null(lookups_take(lookups));
	assert_int_equal(poll(&answer, 1, 0), 0);
	assert_false(slow->is_done);
	assert_int_equal(lookups_nr_open(lookups), 2);
	sem_post(&world.go);
	assert_ptr_equal(await_answer(lookups), slow);
	assert_true(slow->is_done);
	assert_ptr_equal(slow->file.object, &world.object);
	assert_memory_equal(slow->file.hint.build_id, ((uint8_t[]){ 1, 2, 3 }), 3);
	assert_ptr_equal(await_answer(lookups), other);
	assert_int_equal(lookups_nr_open(lookups), 0);
	lookup_free(slow);
	lookup_free(other);
	lookups_end(lookups);
	assert_string_equal(world.order, "so");
	assert_int_equal(world.nr_placed, 1); /* of the one that had to wait */
}

static void an_answer_may_be_asked_for_again(void **state)
{
	struct lookups *lookups = begin();
	struct lookup *lookup = ask_file(lookups, "file");

	(void)state;
	assert_ptr_equal(await_answer(lookups), lookup);
	lookups_again(lookups, lookup);
	assert_false(lookup->is_done);
	assert_int_equal(lookups_nr_open(lookups), 1);
	assert_ptr_equal(await_answer(lookups), lookup);
	lookup_free(lookup);
	lookups_end(lookups);
	assert_string_equal(world.order, "ff");
}

static void tables_that_wait_are_bounded(void **state)
{
	struct lookups *lookups = begin();
	struct lookup *asked[LOOKUPS_TABLES_MAX + 2], *lookup;
	size_t nr = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		asked[i] = ask_file(lookups, "tabled");
	ask_file(lookups, "slow");
	sem_wait(&world.begun);
	sem_post(&world.go);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		assert_ptr_equal(await_answer(lookups), asked[i]);
		nr += asked[i]->file.table != NULL;
	}
	assert_int_equal(nr, LOOKUPS_TABLES_MAX);
	lookup_free(await_answer(lookups));

	/* the table of the first answer is freed: a leak is the sanitizer's to find */
	lookups_again(lookups, asked[0]);
	lookup = await_answer(lookups);
	assert_ptr_equal(lookup, asked[0]);
	assert_non_null(lookup->file.table);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		lookup_free(asked[i]);
	lookups_end(lookups);
}

/* All answers that name an object come before the one that says that it is forgotten. */
static void what_is_asked_of_all_kinds_is_answered_in_order(void **state)
{
	struct lookups *lookups = begin();
	struct object *const objects[] = { &world.object, &world.object };
	struct lookup *lookup;

	(void)state;
	ask_file(lookups, "slow");
	sem_wait(&world.begun);
	assert_int_equal(lookups_process(lookups, 42, 43, 5, 0), 0);
	lookups_code(lookups, &(struct code_event){ .kind = CODE_MET });
	lookups_code(lookups, &(struct code_event){ .kind = CODE_EXIT });
	assert_int_equal(lookups_forget(lookups, objects, ARRAY_SIZE(objects)), 0);
	sem_post(&world.go);

	lookup = await_answer(lookups);
	assert_int_equal(lookup->kind, LOOKUP_FILE);
	lookup_free(lookup);
	lookup = await_answer(lookups);
	assert_int_equal(lookup->kind, LOOKUP_PROCESS);
	assert_int_equal(lookup->process.pid, 42);
	assert_int_equal(lookup->process.tid, 43);
	assert_int_equal(lookup->process.gen, 5);
	assert_int_equal(lookup->process.sighting.entry, 42);
	lookup_free(lookup);
	lookup = await_answer(lookups);
	assert_int_equal(lookup->kind, LOOKUP_FORGET);
	assert_int_equal(lookup->forget.nr, ARRAY_SIZE(objects));
	lookup_free(lookup);
	assert_null(lookups_take(lookups));
	lookups_end(lookups);
	assert_string_equal(world.order, "sP02F");
	assert_int_equal(world.nr_forgotten, ARRAY_SIZE(objects));
}

static void what_was_not_begun_is_given_up_at_the_end(void **state)
{
	struct lookups *lookups = begin();

	(void)state;
	ask_file(lookups, "slow");
	sem_wait(&world.begun);
	ask_file(lookups, "never");
	assert_int_equal(lookups_process(lookups, 1, 1, 1, 0), 0);
	sem_post(&world.go);
	lookups_end(lookups); /* the sanitizer says what is not freed */
	/* the second file waits for its place first */
	assert_true(strcmp(world.order, "s") == 0 || strcmp(world.order, "sn") == 0 ||
		    strcmp(world.order, "sP") == 0 || strcmp(world.order, "snP") == 0 ||
		    strcmp(world.order, "sPn") == 0);
}

static int lowest_free_fd(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/*
 * Asks for @nr files of @owner, and waits until @nr_placed of them have their places, while the
 * first is read, which needs none. Returns how many had one when they were looked up.
 */
static size_t nr_placed_of(size_t nr, uint64_t owner, size_t nr_placed)
{
	struct lookups *lookups = begin();
	int before = lowest_free_fd();

	ask_file_of(lookups, "slow", owner);
	sem_wait(&world.begun);
	for (size_t i = 1; i < nr; i++)
		ask_file_of(lookups, "file", owner);
	for (size_t i = 0; i < nr_placed; i++)
		sem_wait(&world.placed);
	sem_post(&world.go);
	for (size_t i = 0; i < nr; i++) {
		struct lookup *lookup = await_answer(lookups);

		assert_non_null(lookup);
		assert_null(lookup->file.hint.place);
		lookup_free(lookup);
	}
	assert_int_equal(lowest_free_fd(), before);
	lookups_end(lookups);
	assert_int_equal(world.nr_places, 0);
	return world.nr_placed;
}

static void places_are_taken_while_a_file_is_silent(void **state)
{
	(void)state;
	assert_int_equal(nr_placed_of(20, 0, 19), 19);
}

/* One is counted in world.nr_places until it is read, and in lookups until it is done. */
static void only_so_many_places_are_held(void **state)
{
	const uint64_t user = 61234;

	(void)state;
	assert_true(nr_placed_of(100, 0, FINDER_PLACES_MAX) >= FINDER_PLACES_MAX);
	assert_in_range(world.most_places, FINDER_PLACES_MAX - 1, FINDER_PLACES_MAX);
	assert_true(nr_placed_of(100, user, FINDER_PLACES_MAX / 2) >= FINDER_PLACES_MAX / 2);
	assert_in_range(world.most_places, FINDER_PLACES_MAX / 2 - 1, FINDER_PLACES_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asks_goes_on_while_a_file_is_silent),
		cmocka_unit_test(an_answer_may_be_asked_for_again),
		cmocka_unit_test(tables_that_wait_are_bounded),
		cmocka_unit_test(what_is_asked_of_all_kinds_is_answered_in_order),
		cmocka_unit_test(places_are_taken_while_a_file_is_silent),
		cmocka_unit_test(only_so_many_places_are_held),
		cmocka_unit_test(what_was_not_begun_is_given_up_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
