/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "profile/usage.h"

#define VICTIMS_MAX 64u /* tables evicted in one grace period */
/* A table is tried again when there is twice its room, since gaps do not always fit, but compiling
 * it costs CPU time each time. */
#define RETRY_PAUSE_NS 1000000000ull

int tables_init(struct tables *tables, uint64_t max_bytes, struct parser *parser,
		struct table_cache *cache, pool_chunk_fn make, void *make_ctx, struct fpl_err *err)
{
	*tables = (struct tables){ 0 };

	int code = pool_init(&tables->pool, max_bytes, make, make_ctx, err);

	if (code)
		return code;
	code = compiler_create(parser, cache, &tables->compiler, err);
	if (code)
		pool_fini(&tables->pool);
	return code;
}

void tables_fini(struct tables *tables)
{
	compiler_destroy(tables->compiler);
	pool_fini(&tables->pool);
}

void tables_grace(void)
{
	/* BPF programs run where RCU readers do; GLOBAL waits for all of those */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return;
	/* refused with nohz_full CPUs: no program runs longer than a few ms */
	usleep(50000);
}

/* Was there no room for the table, and may there be some by now? */
static bool may_fit_now(const struct tables *tables, const struct object *object)
{
	uint64_t free_bytes = (uint64_t)tables->pool.nr_chunks << FPL_CHUNK_LOG2;

	free_bytes -= pool_used_bytes(&tables->pool);
	return object->slot && object->state == OBJECT_REFUSED &&
	       2ull * object->pool_size <= free_bytes &&
	       usage_monotonic_ns() >= object->refused_ns + RETRY_PAUSE_NS;
}

void tables_want(struct tables *tables, struct object *object)
{
	if (may_fit_now(tables, object))
		object->state = OBJECT_IDLE;
	if (object->state != OBJECT_IDLE)
		return;
	if (!object->slot) {
		object->state = OBJECT_REFUSED;
		tables->nr_without_slot++;
		fpl_log(tables->nr_without_slot == 1 ? FPL_LOG_WARN : FPL_LOG_DEBUG,
			"%s: no slot for another object: its frames are no_table", object->path);
		return;
	}
	if (!compiler_submit(tables->compiler, object))
		object->state = OBJECT_QUEUED;
}

/* The kernel side takes a record for whole once it sees the id: so that goes in last. */
static void publish(struct tables *tables, const struct object *object,
		    const struct fpl_object *record)
{
	struct fpl_object *slot = &tables->slots[object->slot];

	__atomic_store_n(&slot->object, 0, __ATOMIC_RELEASE);
	slot->state = record->state;
	slot->base = record->base;
	slot->rules_off = record->rules_off;
	slot->dir_off = record->dir_off;
	slot->nr_pages = record->nr_pages;
	slot->first_vaddr = record->first_vaddr;
	slot->entry_vaddr = record->entry_vaddr;
	__atomic_store_n(&slot->object, object->id, __ATOMIC_RELEASE);
}

/* The object with a table that nobody maps, the longest unmapped first; NULL: there is none. */
static struct object *find_victim(const struct tables *tables)
{
	struct object *oldest = NULL;

	for (uint32_t id = 1; id <= catalog_nr(tables->catalog); id++) {
		struct object *object = catalog_at(tables->catalog, id);

		if (object->state == OBJECT_READY && object->round != tables->round &&
		    (!oldest || object->round < oldest->round))
			oldest = object;
	}
	return oldest;
}

/* Frees at least @bytes of tables that nobody maps, after one grace period; false: none is left. */
static bool evict(struct tables *tables, uint64_t bytes)
{
	struct object *victims[VICTIMS_MAX], *victim;
	size_t nr = 0;

	for (uint64_t freed = 0; freed < bytes && nr < VICTIMS_MAX; freed += victim->pool_size) {
		victim = find_victim(tables);
		if (!victim)
			break;
		__atomic_store_n(&tables->slots[victim->slot].object, 0, __ATOMIC_RELEASE);
		victim->state = OBJECT_IDLE;
		victims[nr++] = victim;
	}
	if (nr)
		tables_grace();
	for (size_t i = 0; i < nr; i++) {
		pool_remove(&tables->pool, victims[i]->pool_first, victims[i]->pool_size);
		tables->nr_evicted++;
		fpl_log(FPL_LOG_DEBUG, "%s: table evicted, no process maps it", victims[i]->path);
	}
	return nr > 0;
}

/* Puts @table into the pool, at the cost of tables that nobody needs. */
static int place(struct tables *tables, struct object *object, const struct table *table,
		 struct fpl_err *err)
{
	int code = pool_add(&tables->pool, table, &object->pool_first, &object->pool_size, err);

	if (code != -ENOSPC)
		return code;
	tables->round++;
	tables->mark_mapped(tables->ctx, tables->round);
	while (code == -ENOSPC && evict(tables, table->image_bytes))
		code = pool_add(&tables->pool, table, &object->pool_first, &object->pool_size, err);
	return code;
}

static void publish_table(struct tables *tables, struct object *object, const struct table *table)
{
	struct fpl_err err = { 0 };

	if (place(tables, object, table, &err)) {
		bool is_news = !object->refused_ns;

		object->state = OBJECT_REFUSED;
		object->pool_size = table->image_bytes;
		object->refused_ns = usage_monotonic_ns();
		tables->nr_refused++;
		tables->changed = true;
		fpl_log(is_news ? FPL_LOG_WARN : FPL_LOG_DEBUG, "%s: %s: its frames are no_table",
			object->path, err.msg);
		return;
	}
	/* mappings of a refused object were published as having no table */
	if (object->refused_ns)
		tables->changed = true;
	object->state = OBJECT_READY;
	object->stats = table->stats;
	publish(tables, object,
		&(struct fpl_object){ .state = FPL_TABLE_READY,
				      .base = object->pool_first,
				      .rules_off = table->rules_off,
				      .dir_off = table->dir_off,
				      .nr_pages = table->nr_pages,
				      .first_vaddr = table->first_vaddr,
				      .entry_vaddr = table->entry_vaddr });
	fpl_log(FPL_LOG_DEBUG, "%s: object %u: table of %u bytes, %llu rows", object->path,
		object->id, table->image_bytes, (unsigned long long)table->stats.rows);
}

size_t tables_collect(struct tables *tables)
{
	struct compiler_result result;
	size_t nr = 0;

	for (; compiler_take(tables->compiler, &result); nr++) {
		struct object *object = catalog_at(tables->catalog, result.object);

		if (result.table) {
			publish_table(tables, object, result.table);
		} else {
			object->state = OBJECT_NO_CFI;
			publish(tables, object,
				&(struct fpl_object){ .state = FPL_TABLE_NONE,
						      .entry_vaddr = object->elf->entry });
			fpl_log(result.code == -ENODATA ? FPL_LOG_DEBUG : FPL_LOG_WARN,
				"%s: no unwind table", result.err.msg);
		}
		if (result.is_new)
			table_keeper_keep(tables->keeper, &result.key, result.table);
		else
			table_destroy(result.table);
	}
	return nr;
}

void tables_stats(const struct tables *tables, struct profile_tables *ret)
{
	*ret = (struct profile_tables){
		.bytes = pool_used_bytes(&tables->pool),
		.allocated_bytes = pool_allocated_bytes(&tables->pool),
	};
	for (uint32_t id = 1; id <= catalog_nr(tables->catalog); id++) {
		const struct object *object = catalog_at(tables->catalog, id);

		if (object->state != OBJECT_READY)
			continue;
		ret->objects++;
		ret->rows += object->stats.rows;
		ret->rules += object->stats.rules;
	}
}
