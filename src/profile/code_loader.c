/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "obj/file_stat.h"
#include "parse/client.h"
#include "profile/code_refuse.h"
#include "profile/jvm_codes.h"

#define MTIME_SLACK_NS 10000000u /* times of files are those of the last tick: 10 ms at most */

struct job {
	struct job *next;
	struct code_order order;
	struct jvm_codes *jvms; /* held: these are read, and no order; NULL: none */
	struct code_loaded loaded;
};

struct code_loader {
	struct parser *parser;	     /* borrowed */
	struct parse_client *client; /* owned, of the thread */
	size_t max_bytes;
	struct code_loader_stats stats; /* of the thread, until it has been joined */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct job *first, **last; /* owned: to be read */
	bool stop;		   /* when all has been read */
	bool abandon;		   /* at once */
	uint64_t deadline_ns;	   /* 0: none yet */

	struct job *done; /* owned, of the thread */
};

struct code_loader *code_loader_create(struct parser *parser, size_t max_bytes)
{
	struct code_loader *loader = calloc(1, sizeof(*loader));

	if (!loader)
		return NULL;
	loader->parser = parser;
	loader->max_bytes = max_bytes;
	loader->last = &loader->first;
	pthread_mutex_init(&loader->lock, NULL);
	pthread_cond_init(&loader->wake, NULL);
	return loader;
}

static void close_files(struct code_order *order)
{
	cleanup_fd(&order->map_fd);
	cleanup_fd(&order->dump_fd);
	order->map_fd = order->dump_fd = -1;
}

static void drop_jobs(struct job *job)
{
	while (job) {
		struct job *next = job->next;

		close_files(&job->order);
		jvm_codes_put(job->jvms);
		code_table_fini(&job->loaded.dump);
		code_table_fini(&job->loaded.map);
		free(job);
		job = next;
	}
}

static void join(struct code_loader *loader)
{
	pthread_mutex_lock(&loader->lock);
	loader->stop = true;
	pthread_cond_signal(&loader->wake);
	pthread_mutex_unlock(&loader->lock);
	if (loader->has_thread)
		pthread_join(loader->thread, NULL);
	loader->has_thread = false;
	client_close(loader->client);
	loader->client = NULL;
}

void code_loader_destroy(struct code_loader *loader)
{
	if (!loader)
		return;
	pthread_mutex_lock(&loader->lock);
	loader->abandon = true;
	pthread_mutex_unlock(&loader->lock);
	join(loader);
	drop_jobs(loader->first);
	drop_jobs(loader->done);
	pthread_cond_destroy(&loader->wake);
	pthread_mutex_destroy(&loader->lock);
	free(loader);
}

/* Takes a table in, and says what is to be said of its file. */
static void take_in(struct code_loader *loader, struct code_table *table,
		    const struct code_file_result *result, const char *path)
{
	char remark[256];

	loader->stats.files++;
	if (code_file_remark(result, path, remark, sizeof(remark)))
		code_refuse(&loader->stats.refused, remark);
	if (!table->nr) {
		code_table_fini(table);
		return;
	}
	loader->stats.functions += result->nr_entries;
	loader->stats.bytes += code_table_bytes(table);
	fpl_log(FPL_LOG_DEBUG, "%s: %llu functions", path, (unsigned long long)result->nr_entries);
}

static size_t bytes_left(const struct code_loader *loader)
{
	return loader->max_bytes > loader->stats.bytes ? loader->max_bytes - loader->stats.bytes
						       : 0;
}

static void read_dump(struct code_loader *loader, struct job *job)
{
	struct code_table *table = &job->loaded.dump;
	const struct code_order *order = &job->order;
	struct code_file_result result;
	struct client_file file;
	struct fpl_err err = { 0 };
	char path[64];
	int code;

	if (order->dump_fd < 0)
		return;
	snprintf(path, sizeof(path), "pid %u: jit-%d.dump", order->pid, (int)order->own_pid);
	code_table_init(table, bytes_left(loader));
	code = client_file_init(&file, order->dump_fd, path);
	if (code)
		fpl_fail(&err, code, "%s: %s", path, strerror(-code));
	else
		code = client_jitdump(loader->client, &file, (uint32_t)order->own_pid, table,
				      &result, &err);
	if (!code) {
		take_in(loader, table, &result, path);
		return;
	}
	code_table_fini(table);
	code_refuse(&loader->stats.refused, err.msg);
}

static uint64_t ns_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* May the file have been written to at or after @time_ns (CLOCK_MONOTONIC)? */
static bool is_written_since(const struct stat *stat, uint64_t time_ns)
{
	uint64_t real_ns = clock_ns(CLOCK_REALTIME), monotonic_ns = clock_monotonic_ns();

	return ns_of(stat->st_mtim) + MTIME_SLACK_NS >= time_ns + (real_ns - monotonic_ns);
}

/* Was the map written to after its image was gone: by the next image, or another process with the
 * same number? */
static bool is_overwritten(const struct code_order *order)
{
	struct stat stat;

	if (!order->ended && !order->replaced_ns)
		return false;
	if (file_stat(order->map_fd, &stat, NULL))
		return true;
	if (order->replaced_ns)
		return is_written_since(&stat, order->replaced_ns);
	return stat.st_size != order->at_exit.st_size ||
	       ns_of(stat.st_mtim) != ns_of(order->at_exit.st_mtim);
}

static void read_map(struct code_loader *loader, struct job *job)
{
	struct code_table *table = &job->loaded.map;
	const struct code_order *order = &job->order;
	struct code_file_result result;
	struct client_file file;
	struct fpl_err err = { 0 };
	char path[96];
	int code;

	if (order->map_fd < 0)
		return;
	snprintf(path, sizeof(path), "pid %u: %s", order->pid, order->map_name);
	code_table_init(table, bytes_left(loader));
	code = client_file_init(&file, order->map_fd, path);
	if (code)
		fpl_fail(&err, code, "%s: %s", path, strerror(-code));
	else
		code = client_perf_map(loader->client, &file, table, &result, &err);
	/* the data belongs to the image if the file was not written to meanwhile */
	if (!code && is_overwritten(order))
		code = fpl_fail(&err, -ESTALE, "%s: was written to after the program had ended",
				path);
	if (!code) {
		take_in(loader, table, &result, path);
		return;
	}
	code_table_fini(table);
	code_refuse(&loader->stats.refused, err.msg);
}

static void load(struct code_loader *loader, struct job *job, bool is_late)
{
	struct fpl_err err;

	if (is_late) {
		fpl_fail(&err, -ETIME, "pid %u: its code is not read: others took %u s",
			 job->order.pid, CODE_LOADER_FINISH_S);
		code_refuse(&loader->stats.refused, err.msg);
	} else {
		read_dump(loader, job);
		read_map(loader, job);
	}
	close_files(&job->order);
}

static void *loader_main(void *ctx)
{
	struct code_loader *loader = ctx;

	pthread_mutex_lock(&loader->lock);
	for (;;) {
		struct job *job = loader->first;
		bool is_late = loader->deadline_ns && clock_monotonic_ns() > loader->deadline_ns;

		if (loader->abandon || (!job && loader->stop))
			break;
		if (!job) {
			pthread_cond_wait(&loader->wake, &loader->lock);
			continue;
		}
		loader->first = job->next;
		if (!loader->first)
			loader->last = &loader->first;
		pthread_mutex_unlock(&loader->lock);
		if (job->jvms) {
			jvm_codes_read(job->jvms, loader->parser);
			jvm_codes_put(job->jvms);
			free(job);
		} else {
			load(loader, job, is_late);
			job->next = loader->done;
			loader->done = job;
		}
		pthread_mutex_lock(&loader->lock);
	}
	pthread_mutex_unlock(&loader->lock);
	return NULL;
}

/* When there is something to read: most runs have nothing. */
static int begin_thread(struct code_loader *loader)
{
	int code;

	if (loader->has_thread)
		return 0;
	if (!loader->client && client_open(loader->parser, &loader->client, NULL))
		return -ENOMEM;
	code = thread_begin(&loader->thread, loader_main, loader);
	loader->has_thread = !code;
	return code;
}

/* @job is the loader's from here on, also after an error. Errors: -ENOMEM. */
static int submit(struct code_loader *loader, struct job *job)
{
	job->next = NULL;
	if (begin_thread(loader)) {
		drop_jobs(job);
		return -ENOMEM;
	}
	pthread_mutex_lock(&loader->lock);
	*loader->last = job;
	loader->last = &job->next;
	pthread_cond_signal(&loader->wake);
	pthread_mutex_unlock(&loader->lock);
	return 0;
}

int code_loader_submit(struct code_loader *loader, const struct code_order *order)
{
	struct job *job = calloc(1, sizeof(*job));
	struct code_order own = *order;

	if (!job) {
		close_files(&own);
		return -ENOMEM;
	}
	job->order = own;
	job->loaded.gen = order->gen;
	return submit(loader, job);
}

void code_loader_read_jvms(struct code_loader *loader, struct jvm_codes *jvms)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return;
	job->order.map_fd = job->order.dump_fd = -1;
	job->jvms = jvm_codes_get(jvms);
	(void)!submit(loader, job);
}

void code_loader_finish(struct code_loader *loader)
{
	pthread_mutex_lock(&loader->lock);
	loader->deadline_ns = clock_monotonic_ns() + CODE_LOADER_FINISH_S * NS_PER_S;
	pthread_mutex_unlock(&loader->lock);
	join(loader);
}

bool code_loader_take(struct code_loader *loader, struct code_loaded *ret)
{
	struct job *job = loader->done;

	if (!job)
		return false;
	loader->done = job->next;
	*ret = job->loaded;
	free(job);
	return true;
}

void code_loader_stats(const struct code_loader *loader, struct code_loader_stats *ret)
{
	*ret = loader->stats;
}
