/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/thread.h"
#include "profile/table_cache.h"

struct waiting {
	struct waiting *next;
	struct table_key key;
	struct table *table; /* owned */
};

struct table_writer {
	struct disk_cache *cache; /* borrowed */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake, idle;
	struct waiting *first, **last;
	uint64_t bytes; /* of the tables that wait and the one at hand */
	bool stop;
};

int table_writer_create(struct disk_cache *cache, struct table_writer **ret, struct fpl_err *err)
{
	struct table_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return fpl_fail(err, -ENOMEM, "cache of tables: out of memory");
	writer->cache = cache;
	writer->last = &writer->first;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->wake, NULL);
	pthread_cond_init(&writer->idle, NULL);
	*ret = writer;
	return 0;
}

/* Stores the first that waits; the lock is held, but not meanwhile. */
static void store_first(struct table_writer *writer)
{
	struct waiting *waiting = writer->first;
	uint64_t bytes = waiting->table->image_bytes;

	writer->first = waiting->next;
	if (!writer->first)
		writer->last = &writer->first;
	pthread_mutex_unlock(&writer->lock);
	table_cache_store(writer->cache, &waiting->key, waiting->table);
	table_destroy(waiting->table);
	free(waiting);
	pthread_mutex_lock(&writer->lock);
	writer->bytes -= bytes;
	if (!writer->bytes)
		pthread_cond_broadcast(&writer->idle);
}

static void *writer_main(void *ctx)
{
	struct table_writer *writer = ctx;

	/* no sample waits for it: it does not need the loop's priority */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	pthread_mutex_lock(&writer->lock);
	while (writer->first || !writer->stop) {
		if (writer->first)
			store_first(writer);
		else
			pthread_cond_wait(&writer->wake, &writer->lock);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

static bool begin_thread(struct table_writer *writer)
{
	if (!writer->has_thread)
		writer->has_thread = !thread_begin(&writer->thread, writer_main, writer);
	return writer->has_thread;
}

void table_writer_keep(struct table_writer *writer, const struct table_key *key,
		       struct table *table)
{
	struct waiting *waiting = writer && begin_thread(writer) ? malloc(sizeof(*waiting)) : NULL;
	bool is_taken = false;

	if (waiting) {
		*waiting = (struct waiting){ .key = *key, .table = table };
		pthread_mutex_lock(&writer->lock);
		is_taken = writer->bytes + table->image_bytes <= TABLE_WRITER_BYTES_MAX;
		if (is_taken) {
			writer->bytes += table->image_bytes;
			*writer->last = waiting;
			writer->last = &waiting->next;
			pthread_cond_signal(&writer->wake);
		}
		pthread_mutex_unlock(&writer->lock);
	}
	if (!is_taken) {
		free(waiting);
		table_destroy(table);
	}
}

void table_writer_flush(struct table_writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	while (writer->bytes)
		pthread_cond_wait(&writer->idle, &writer->lock);
	pthread_mutex_unlock(&writer->lock);
}

void table_writer_destroy(struct table_writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	if (writer->has_thread)
		pthread_join(writer->thread, NULL);
	pthread_cond_destroy(&writer->wake);
	pthread_cond_destroy(&writer->idle);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
