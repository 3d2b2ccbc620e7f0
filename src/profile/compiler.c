/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/compiler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "parse/client.h"
#include "profile/catalog.h"
#include "profile/table_cache.h"
#include "profile/turns.h"

/*
 * A program that begins maps its two or three large libraries within milliseconds: one must not
 * wait for the other. More would only take the CPUs from what is profiled.
 */
#define NR_THREADS 2u

/* So long the end of a run waits for the whole table at hand. */
#define WHOLE_PATIENCE_NS 200000000ull

/* So long a sample waits for all rows of a file: one or two other samples do meanwhile. Rows around
 * samples are made in a third of that or less. */
#define SLOW_NS 15000000ull

enum lane { LANE_FIRST, LANE_WHOLE, LANE_COUNT };

struct job {
	struct turn turn;		/* of the owner of the file; first */
	const struct object *object;	/* borrowed: what does not change after it was made */
	uint64_t near[CLIENT_NEAR_MAX]; /* [nr_near], of COMPILER_NEAR: ascending, no two alike */
	size_t nr_near;
	struct compiler_result result;
};

struct compiler {
	struct disk_cache *cache; /* borrowed; may be NULL */
	bool synth;
	pthread_t threads[NR_THREADS + 1];
	size_t nr_threads;
	bool has_whole;	      /* there is a thread for LANE_WHOLE */
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake[LANE_COUNT];
	struct turn_queue todo[LANE_COUNT], done;
	struct turn_queue urgent; /* before what else LANE_FIRST has to do: samples wait for it */
	struct turns turns[LANE_COUNT];
	size_t nr_open; /* of the submitting thread alone */
	atomic_bool stop;
	uint64_t stopped_ns; /* CLOCK_MONOTONIC; before stop is set */
	int event_fd;
};

/* NULL: no turn. */
static struct job *job_of(struct turn *turn)
{
	return (struct job *)turn;
}

/*
 * Is the file the one that the object was made of? It may have been written to, before it was read
 * again or meanwhile. If only its times are newer, as after touch(1), its identity is the same.
 */
static int check_file(struct parse_client *client, const struct object *object,
		      const struct client_file *file, struct fpl_err *err)
{
	struct identity identity;
	struct debug_link link;
	struct elf_file *elf;

	if (object->path[0] != '/') /* the vDSO */
		return 0;
	if (file_stamp_holds(&object->stamp, file->fd))
		return 0;

	int code = client_facts(client, file, &elf, &identity, &link, err);

	if (code)
		return code;
	elf_file_close(elf);
	if (memcmp(&identity, &object->identity, sizeof(identity)) != 0)
		return fpl_fail(err, -ESTALE, "%s: was written to since it was mapped",
				object->path);
	return 0;
}

/* From the cache, or else by having it compiled. */
static void make_table(struct disk_cache *cache, const struct object *object,
		       struct parse_client *client, const struct client_file *file,
		       struct compiler_result *result)
{
	struct table_key key = { { 0 } }, after;
	bool is_named = object->path[0] == '/'; /* not the vDSO, which is another file each run */
	bool has_key = disk_cache_is_open(cache) && is_named &&
		       !table_key_read(object->elf, &object->identity, &object->stamp,
				       file->debug_fd, file->synth, &key);

	/* of others it was asked before the one without rows from code was made */
	if (has_key && result->part == COMPILER_CFI)
		result->table = table_cache_load(cache, &key);
	if (result->table)
		return;
	result->code = client_table(client, file, &result->table, &result->err);
	if (!result->code)
		result->code = check_file(client, object, file, &result->err);
	if (result->code && result->table) {
		table_destroy(result->table);
		result->table = NULL;
	}
	/* what was compiled must still be what the key is of */
	result->is_new = has_key && !result->code && result->part != COMPILER_NEAR &&
			 !table_key_read(object->elf, &object->identity, &object->stamp,
					 file->debug_fd, file->synth, &after) &&
			 memcmp(&key, &after, sizeof(key)) == 0;
	result->key = key;
}

static void compile(struct compiler *compiler, struct parse_client *client, struct job *job)
{
	const struct object *object = job->object;
	struct compiler_result *result = &job->result;
	struct client_file file;

	result->code = client_file_init(&file, object->elf->fd, object->path);
	if (result->code) {
		fpl_fail(&result->err, result->code, "%s: %s", object->path,
			 strerror(-result->code));
		return;
	}
	/* as it was when the file was met: one that has no name any more is not for a worker of its
	 * own */
	file.trust = object->trust;
	file.synth = compiler->synth;
	file.synth_later = result->part == COMPILER_CFI;
	file.near = job->near;
	file.nr_near = job->nr_near;
	if (object->link.is_stripped)
		client_find_debug(client, &file, object->elf, &object->link, NULL);
	make_table(compiler->cache, object, client, &file, result);
	cleanup_fd(&file.debug_fd);
}

struct thread {
	struct compiler *compiler;   /* borrowed */
	struct parse_client *client; /* owned */
	enum lane lane;
};

/* client_pause_fn: at the end of a run a whole table is only of use to the next one. */
static void stop_at_the_end(void *ctx)
{
	struct thread *thread = ctx;

	if (thread->compiler->stop &&
	    clock_monotonic_ns() > thread->compiler->stopped_ns + WHOLE_PATIENCE_NS)
		client_cancel(thread->client);
}

static struct job *next_job(struct compiler *compiler, enum lane lane, uint64_t now_ns)
{
	struct turn *turn = NULL;

	if (lane == LANE_FIRST)
		turn = turns_begin(&compiler->turns[lane], &compiler->urgent, now_ns);
	if (!turn)
		turn = turns_begin(&compiler->turns[lane], &compiler->todo[lane], now_ns);
	return job_of(turn);
}

static void *compiler_main(void *ctx)
{
	struct thread *thread = ctx;
	struct compiler *compiler = thread->compiler;

	if (thread->lane == LANE_WHOLE)
		(void)!setpriority(PRIO_PROCESS, 0, 0); /* not with that of the loop */
	pthread_mutex_lock(&compiler->lock);
	while (!compiler->stop) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;
		struct job *job = next_job(compiler, thread->lane, began_ns);

		if (!job) {
			pthread_cond_wait(&compiler->wake[thread->lane], &compiler->lock);
			continue;
		}
		pthread_mutex_unlock(&compiler->lock);
		compile(compiler, thread->client, job);
		now_ns = clock_monotonic_ns();
		pthread_mutex_lock(&compiler->lock);
		turns_end(&compiler->turns[thread->lane], job->turn.owner, now_ns - began_ns,
			  now_ns);
		turn_queue_push(&compiler->done, &job->turn);
		eventfd_write(compiler->event_fd, 1);
	}
	pthread_mutex_unlock(&compiler->lock);
	client_close(thread->client);
	free(thread);
	return NULL;
}

/* Begins one more thread, for @lane. Returns 0 or a negative errno. */
static int begin_thread(struct compiler *compiler, struct parser *parser, enum lane lane)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread || client_open(parser, &thread->client, NULL)) {
		free(thread);
		return -ENOMEM;
	}
	thread->compiler = compiler;
	thread->lane = lane;
	if (lane == LANE_WHOLE) {
		client_calm(thread->client);
		client_on_pause(thread->client, stop_at_the_end, thread);
	}

	int code = thread_begin(&compiler->threads[compiler->nr_threads], compiler_main, thread);

	if (code) {
		client_close(thread->client);
		free(thread);
	}
	compiler->nr_threads += !code;
	return code;
}

int compiler_create(struct parser *parser, struct disk_cache *cache, bool synth,
		    struct compiler **ret, struct fpl_err *err)
{
	struct compiler *compiler = calloc(1, sizeof(*compiler));

	if (!compiler)
		return fpl_fail(err, -ENOMEM, "table compiler: out of memory");
	compiler->cache = cache;
	compiler->synth = synth;
	pthread_mutex_init(&compiler->lock, NULL);
	for (size_t i = 0; i < LANE_COUNT; i++) {
		pthread_cond_init(&compiler->wake[i], NULL);
		turn_queue_init(&compiler->todo[i]);
	}
	turn_queue_init(&compiler->urgent);
	turn_queue_init(&compiler->done);
	compiler->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	int code = compiler->event_fd < 0 ? -errno : 0;

	for (size_t i = 0; !code && i < NR_THREADS; i++)
		code = begin_thread(compiler, parser, LANE_FIRST);
	compiler->has_whole = synth && !code && !begin_thread(compiler, parser, LANE_WHOLE);
	if (!compiler->nr_threads) {
		compiler_destroy(compiler);
		return fpl_fail(err, code, "table compiler: thread: %s", strerror(-code));
	}
	*ret = compiler;
	return 0;
}

static void drop_jobs(struct turn_queue *queue)
{
	struct job *job;

	while ((job = job_of(turn_queue_pop(queue)))) {
		table_destroy(job->result.table);
		free(job);
	}
}

void compiler_destroy(struct compiler *compiler)
{
	if (!compiler)
		return;
	pthread_mutex_lock(&compiler->lock);
	compiler->stopped_ns = clock_monotonic_ns();
	compiler->stop = true;
	for (size_t i = 0; i < LANE_COUNT; i++)
		pthread_cond_broadcast(&compiler->wake[i]);
	pthread_mutex_unlock(&compiler->lock);
	for (size_t i = 0; i < compiler->nr_threads; i++)
		pthread_join(compiler->threads[i], NULL);
	for (size_t i = 0; i < LANE_COUNT; i++)
		drop_jobs(&compiler->todo[i]);
	drop_jobs(&compiler->urgent);
	drop_jobs(&compiler->done);
	cleanup_fd(&compiler->event_fd);
	for (size_t i = 0; i < LANE_COUNT; i++)
		pthread_cond_destroy(&compiler->wake[i]);
	pthread_mutex_destroy(&compiler->lock);
	free(compiler);
}

bool compiler_is_slow(const struct object *object)
{
	return object->table.stats.synth_left > SLOW_NS;
}

/* In its place, once, while there is room. */
static void add_near(struct job *job, uint64_t vaddr)
{
	size_t i = SORTED_NUMBERS(job->near, job->nr_near, vaddr);

	if (job->nr_near == CLIENT_NEAR_MAX || (i && job->near[i - 1] == vaddr))
		return;
	memmove(job->near + i + 1, job->near + i, (job->nr_near - i) * sizeof(*job->near));
	job->near[i] = vaddr;
	job->nr_near++;
}

int compiler_submit(struct compiler *compiler, const struct object *object, enum compiler_part part,
		    uint64_t vaddr)
{
	bool slow = part == COMPILER_WHOLE && compiler_is_slow(object) && compiler->has_whole;
	enum lane lane = slow ? LANE_WHOLE : LANE_FIRST;
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->turn.owner = object->owner;
	job->object = object;
	job->result.object = object->id;
	job->result.part = part;
	if (part == COMPILER_NEAR)
		add_near(job, vaddr);
	compiler->nr_open++;
	pthread_mutex_lock(&compiler->lock);
	/* rows from code are only asked for by samples */
	turn_queue_push(part == COMPILER_CFI || slow ? &compiler->todo[lane] : &compiler->urgent,
			&job->turn);
	pthread_cond_signal(&compiler->wake[lane]);
	pthread_mutex_unlock(&compiler->lock);
	return 0;
}

int compiler_submit_made(struct compiler *compiler, const struct object *object,
			 struct table *table)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->result.object = object->id;
	job->result.part = COMPILER_CFI;
	job->result.table = table;
	compiler->nr_open++;
	pthread_mutex_lock(&compiler->lock);
	turn_queue_push(&compiler->done, &job->turn);
	eventfd_write(compiler->event_fd, 1);
	pthread_mutex_unlock(&compiler->lock);
	return 0;
}

void compiler_hasten(struct compiler *compiler, const struct object *object)
{
	struct turn_queue *queue = &compiler->todo[LANE_FIRST];
	struct job *job;

	pthread_mutex_lock(&compiler->lock);
	job = job_of(queue->first);
	while (job && job->object != object)
		job = job_of(job->turn.next);
	if (job) {
		turn_queue_remove(queue, &job->turn);
		turn_queue_push(&compiler->urgent, &job->turn);
	}
	pthread_mutex_unlock(&compiler->lock);
}

void compiler_add_near(struct compiler *compiler, const struct object *object, uint64_t vaddr)
{
	struct job *job;

	pthread_mutex_lock(&compiler->lock);
	job = job_of(compiler->urgent.first);
	while (job && (job->object != object || job->result.part != COMPILER_NEAR))
		job = job_of(job->turn.next);
	if (job)
		add_near(job, vaddr);
	pthread_mutex_unlock(&compiler->lock);
}

int compiler_fd(const struct compiler *compiler)
{
	return compiler->event_fd;
}

bool compiler_take(struct compiler *compiler, struct compiler_result *ret)
{
	eventfd_t drained;

	pthread_mutex_lock(&compiler->lock);

	struct job *job = job_of(turn_queue_pop(&compiler->done));

	if (job && !compiler->done.first)
		eventfd_read(compiler->event_fd, &drained);
	pthread_mutex_unlock(&compiler->lock);
	if (!job)
		return false;
	*ret = job->result;
	compiler->nr_open--;
	free(job);
	return true;
}

size_t compiler_nr_open(const struct compiler *compiler)
{
	return compiler->nr_open;
}
