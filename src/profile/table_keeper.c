/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_keeper.h"

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

struct table_keeper {
	struct disk_cache *cache; /* borrowed */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake, idle;
	struct waiting *first, **last;
	uint64_t bytes; /* of the tables that wait and the one at hand */
	bool stop;
};

int table_keeper_create(struct disk_cache *cache, struct table_keeper **ret, struct fpl_err *err)
{
	struct table_keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper)
		return fpl_fail(err, -ENOMEM, "cache of tables: out of memory");
	keeper->cache = cache;
	keeper->last = &keeper->first;
	pthread_mutex_init(&keeper->lock, NULL);
	pthread_cond_init(&keeper->wake, NULL);
	pthread_cond_init(&keeper->idle, NULL);
	*ret = keeper;
	return 0;
}

/* Stores the first that waits; the lock is held, but not meanwhile. */
static void store_first(struct table_keeper *keeper)
{
	struct waiting *waiting = keeper->first;
	uint64_t bytes = waiting->table->image_bytes;

	keeper->first = waiting->next;
	if (!keeper->first)
		keeper->last = &keeper->first;
	pthread_mutex_unlock(&keeper->lock);
	table_cache_store(keeper->cache, &waiting->key, waiting->table);
	table_destroy(waiting->table);
	free(waiting);
	pthread_mutex_lock(&keeper->lock);
	keeper->bytes -= bytes;
	if (!keeper->bytes)
		pthread_cond_broadcast(&keeper->idle);
}

static void *keeper_main(void *ctx)
{
	struct table_keeper *keeper = ctx;

	/* no sample waits for it: it does not need the loop's priority */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	pthread_mutex_lock(&keeper->lock);
	while (keeper->first || !keeper->stop) {
		if (keeper->first)
			store_first(keeper);
		else
			pthread_cond_wait(&keeper->wake, &keeper->lock);
	}
	pthread_mutex_unlock(&keeper->lock);
	return NULL;
}

static bool begin_thread(struct table_keeper *keeper)
{
	if (!keeper->has_thread)
		keeper->has_thread = !thread_begin(&keeper->thread, keeper_main, keeper);
	return keeper->has_thread;
}

void table_keeper_keep(struct table_keeper *keeper, const struct table_key *key,
		       struct table *table)
{
	struct waiting *waiting = keeper && begin_thread(keeper) ? malloc(sizeof(*waiting)) : NULL;
	bool is_taken = false;

	if (waiting) {
		*waiting = (struct waiting){ .key = *key, .table = table };
		pthread_mutex_lock(&keeper->lock);
		is_taken = keeper->bytes + table->image_bytes <= TABLE_KEEPER_BYTES_MAX;
		if (is_taken) {
			keeper->bytes += table->image_bytes;
			*keeper->last = waiting;
			keeper->last = &waiting->next;
			pthread_cond_signal(&keeper->wake);
		}
		pthread_mutex_unlock(&keeper->lock);
	}
	if (!is_taken) {
		free(waiting);
		table_destroy(table);
	}
}

void table_keeper_flush(struct table_keeper *keeper)
{
	if (!keeper)
		return;
	pthread_mutex_lock(&keeper->lock);
	while (keeper->bytes)
		pthread_cond_wait(&keeper->idle, &keeper->lock);
	pthread_mutex_unlock(&keeper->lock);
}

void table_keeper_destroy(struct table_keeper *keeper)
{
	if (!keeper)
		return;
	pthread_mutex_lock(&keeper->lock);
	keeper->stop = true;
	pthread_cond_signal(&keeper->wake);
	pthread_mutex_unlock(&keeper->lock);
	if (keeper->has_thread)
		pthread_join(keeper->thread, NULL);
	pthread_cond_destroy(&keeper->wake);
	pthread_cond_destroy(&keeper->idle);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper);
}
