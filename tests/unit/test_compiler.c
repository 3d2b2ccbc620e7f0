/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the threads of the compiler take jobs. Workers are played here: each job
 * waits until it is let go, so that one after the other is begun.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "parse/client.h"
#include "profile/catalog.h"
#include "profile/compiler.h"

enum { NR_THREADS = 2, NR_OBJECTS = 8, PATIENCE_S = 180 };

static struct object objects[NR_OBJECTS];
static struct elf_file elf; /* of all */

/* Jobs begun, in order: the name of an object, and the vaddrs asked for. */
static struct {
	pthread_mutex_t lock;
	char order[NR_OBJECTS + 1];
	size_t nr_near[NR_OBJECTS];
	uint64_t near[NR_OBJECTS][CLIENT_NEAR_MAX];
	sem_t begun, go;
} world;

int client_open(struct parser *parser, struct parse_client **ret, struct fpl_err *err)
{
	(void)parser, (void)err;
	*ret = (struct parse_client *)&world;
	return 0;
}

void client_close(struct parse_client *client)
{
	(void)client;
}

void client_calm(struct parse_client *client)
{
	(void)client;
}

void client_cancel(struct parse_client *client)
{
	(void)client;
}

void client_on_pause(struct parse_client *client, client_pause_fn pause, void *ctx)
{
	(void)client, (void)pause, (void)ctx;
}

int client_file_init(struct client_file *file, int fd, const char *path)
{
	*file = (struct client_file){ .fd = fd, .path = path, .debug_fd = -1, .alt_fd = -1 };
	return 0;
}

void client_find_debug(struct parse_client *client, struct client_file *file,
		       const struct elf_file *of, const struct debug_link *link,
		       char ret_path[PATH_MAX])
{
	(void)client, (void)file, (void)of, (void)link, (void)ret_path;
}

int client_facts(struct parse_client *client, const struct client_file *file, struct elf_file **ret,
		 struct identity *identity, struct debug_link *link, struct fpl_err *err)
{
	(void)client, (void)file, (void)ret, (void)identity, (void)link;
	return fpl_fail(err, -ENODATA, "nobody asks for it");
}

int client_table(struct parse_client *client, const struct client_file *file, struct table **ret,
		 struct fpl_err *err)
{
	(void)client, (void)ret;
	pthread_mutex_lock(&world.lock);

	size_t i = strlen(world.order);

	world.order[i] = file->path[0];
	world.nr_near[i] = file->nr_near;
	if (file->nr_near)
		memcpy(world.near[i], file->near, file->nr_near * sizeof(*file->near));
	pthread_mutex_unlock(&world.lock);
	sem_post(&world.begun);
	sem_wait(&world.go);
	return fpl_fail(err, -ENODATA, "%s: none", file->path);
}

static void await_begun(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	while (sem_timedwait(&world.begun, &until))
		assert_int_equal(errno, EINTR);
}

/* Threads of the first lane are at work on objects 0 and 1. */
static struct compiler *begin(void)
{
	static const char *const names[NR_OBJECTS] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	struct compiler *compiler;
	struct fpl_err err;

	memset(&world, 0, sizeof(world));
	pthread_mutex_init(&world.lock, NULL);
	sem_init(&world.begun, 0, 0);
	sem_init(&world.go, 0, 0);
	for (uint32_t i = 0; i < NR_OBJECTS; i++)
		objects[i] = (struct object){ .id = i, .path = (char *)names[i], .elf = &elf };
	assert_int_equal(compiler_create(NULL, NULL, true, &compiler, &err), 0);
	for (size_t i = 0; i < NR_THREADS; i++) {
		assert_int_equal(compiler_submit(compiler, &objects[i], COMPILER_CFI, 0), 0);
		await_begun();
	}
	return compiler;
}

/* Lets all be done, one after the other; then the order must have been @want. */
static void finish(struct compiler *compiler, const char *want)
{
	struct compiler_result result;
	size_t nr = strlen(want);

	for (size_t i = NR_THREADS; i < nr; i++) {
		sem_post(&world.go);
		await_begun();
	}
	for (size_t i = 0; i < NR_THREADS; i++)
		sem_post(&world.go);
	for (size_t left = nr; left > 0; left -= compiler_take(compiler, &result))
		;
	assert_int_equal(compiler_nr_open(compiler), 0);
	assert_memory_equal(world.order + NR_THREADS, want + NR_THREADS, nr - NR_THREADS);
	compiler_destroy(compiler);
}

static void submit(struct compiler *compiler, size_t i, enum compiler_part part, uint64_t vaddr)
{
	assert_int_equal(compiler_submit(compiler, &objects[i], part, vaddr), 0);
}

static void jobs_are_begun_as_they_came(void **state)
{
	struct compiler *compiler = begin();

	(void)state;
	for (size_t i = NR_THREADS; i < 5; i++)
		submit(compiler, i, COMPILER_CFI, 0);
	finish(compiler, "abcde");
}

static void awaited_tables_are_compiled_first(void **state)
{
	struct compiler *compiler = begin();

	(void)state;
	for (size_t i = NR_THREADS; i < 6; i++)
		submit(compiler, i, COMPILER_CFI, 0);
	compiler_hasten(compiler, &objects[5]); /* the last */
	compiler_hasten(compiler, &objects[3]);
	compiler_hasten(compiler, &objects[3]); /* it is already */
	compiler_hasten(compiler, &objects[0]); /* it was begun */
	compiler_hasten(compiler, &objects[7]); /* not requested before */
	submit(compiler, 6, COMPILER_CFI, 0);	/* behind what is left of the others */
	finish(compiler, "abfdceg");
}

static void rows_for_samples_come_before_tables(void **state)
{
	struct compiler *compiler = begin();

	(void)state;
	submit(compiler, 2, COMPILER_CFI, 0);
	submit(compiler, 3, COMPILER_NEAR, 0x30);
	submit(compiler, 4, COMPILER_WHOLE, 0); /* of one that is quickly done */
	compiler_add_near(compiler, &objects[3], 0x10);
	compiler_add_near(compiler, &objects[3], 0x30);
	compiler_add_near(compiler, &objects[2], 0x50); /* that is no such job */
	finish(compiler, "abdec");
	assert_int_equal(world.nr_near[2], 2);
	assert_int_equal(world.near[2][0], 0x10);
	assert_int_equal(world.near[2][1], 0x30);
	assert_int_equal(world.nr_near[4], 0);
}

static void a_table_that_is_there_waits_for_no_other(void **state)
{
	struct compiler *compiler = begin();
	struct table *table = calloc(1, sizeof(*table));
	struct compiler_result result;
	struct pollfd answer = { .fd = compiler_fd(compiler), .events = POLLIN };

	(void)state;
	assert_non_null(table);
	assert_int_equal(poll(&answer, 1, 0), 0);
	assert_int_equal(compiler_submit_made(compiler, &objects[5], table), 0);
	assert_int_equal(compiler_nr_open(compiler), NR_THREADS + 1);
	assert_int_equal(poll(&answer, 1, 0), 1);
	assert_true(compiler_take(compiler, &result));
	assert_int_equal(result.object, 5);
	assert_int_equal(result.part, COMPILER_CFI);
	assert_ptr_equal(result.table, table);
	assert_false(result.is_new);
	assert_false(compiler_take(compiler, &result));
	table_destroy(table);
	finish(compiler, "ab");
}

static void waiting_jobs_are_dropped_at_the_end(void **state)
{
	struct compiler *compiler = begin();

	(void)state;
	for (size_t i = NR_THREADS; i < 6; i++)
		submit(compiler, i, i % 2 ? COMPILER_CFI : COMPILER_NEAR, i);
	compiler_hasten(compiler, &objects[3]);
	for (size_t i = 0; i < NR_OBJECTS; i++)
		sem_post(&world.go);
	compiler_destroy(compiler); /* leaks are the sanitizer's to find */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_begun_as_they_came),
		cmocka_unit_test(awaited_tables_are_compiled_first),
		cmocka_unit_test(rows_for_samples_come_before_tables),
		cmocka_unit_test(a_table_that_is_there_waits_for_no_other),
		cmocka_unit_test(waiting_jobs_are_dropped_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
