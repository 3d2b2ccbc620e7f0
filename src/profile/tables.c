/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "profile/eviction.h"
#include "profile/table_use.h"
#include "profile/usage.h"

#define VICTIMS_MAX 64u /* tables evicted in one grace period */
/* A table is tried again when there is twice its room, since gaps do not always fit, but compiling
 * it costs CPU time each time. */
#define RETRY_PAUSE_NS	 1000000000ull
#define LOOK_PAUSE_NS	 500000000ull
#define TRIES_PER_REVIEW 8u
#define REFUSALS_SAID	 8u /* lines at warning level; the rest at debug */

int tables_init(struct tables *tables, uint64_t max_bytes, struct parser *parser,
		struct disk_cache *cache, bool synth, pool_chunk_fn make, void *make_ctx,
		struct fpl_err *err)
{
	*tables = (struct tables){ 0 };

	int code = pool_init(&tables->pool, max_bytes, make, make_ctx, err);

	if (code)
		return code;
	code = compiler_create(parser, cache, synth, &tables->compiler, err);
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

/* Each refusal doubles the pause to the next try: it costs compiling the table. */
static bool may_try(const struct object *object, uint64_t now)
{
	uint32_t doublings = object->nr_refusals < 6 ? object->nr_refusals : 6;

	return now >= object->refused_ns + (RETRY_PAUSE_NS << doublings);
}

/* Was there no room for the table, and may there be some by now? */
static bool may_fit_now(const struct tables *tables, const struct object *object)
{
	uint64_t free_bytes = pool_max_bytes(&tables->pool) - pool_used_bytes(&tables->pool);

	return object->state == OBJECT_REFUSED && 2ull * object->pool_size <= free_bytes &&
	       may_try(object, usage_monotonic_ns());
}

void tables_want(struct tables *tables, struct object *object)
{
	if (may_fit_now(tables, object))
		object->state = OBJECT_IDLE;
	if (object->state != OBJECT_IDLE)
		return;
	if (!compiler_submit(tables->compiler, object))
		object->state = OBJECT_QUEUED;
}

void tables_need(struct tables *tables, struct object *object)
{
	if (object->state == OBJECT_EVICTED)
		object->state = OBJECT_IDLE;
	tables_want(tables, object);
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

/* Look what is used and what is mapped, unless that was just done. */
static void look(struct tables *tables, uint64_t now)
{
	if (tables->look && now < tables->looked_ns + LOOK_PAUSE_NS)
		return;
	tables->looked_ns = now;
	tables->look++;
	table_use_fade(tables->catalog);
	if (tables->look_at_use)
		tables->look_at_use(tables->use_ctx, tables->look);
	tables->round++;
	tables->mark_mapped(tables->ctx, tables->round);
}

static struct eviction begin_eviction(struct tables *tables, const struct object *newcomer)
{
	uint64_t now = usage_monotonic_ns();

	look(tables, now);
	return (struct eviction){ .catalog = tables->catalog,
				  .newcomer = newcomer,
				  .now_ns = now,
				  .look = tables->look,
				  .round = tables->round };
}

/* Frees at least @bytes of tables worth less than the newcomer's, after one grace period; false:
 * there is none. */
static bool evict(struct tables *tables, struct eviction *eviction, uint64_t bytes)
{
	struct object *victims[VICTIMS_MAX], *victim;
	size_t nr = 0;

	for (uint64_t freed = 0; freed < bytes && nr < VICTIMS_MAX; freed += victim->pool_size) {
		victim = eviction_next(eviction);
		if (!victim)
			break;
		__atomic_store_n(&tables->slots[victim->slot].object, 0, __ATOMIC_RELEASE);
		victim->state = OBJECT_EVICTED;
		victims[nr++] = victim;
	}
	if (nr)
		tables_grace();
	for (size_t i = 0; i < nr; i++) {
		pool_remove(&tables->pool, victims[i]->pool_first, victims[i]->pool_size);
		tables->nr_evicted++;
		fpl_log(FPL_LOG_DEBUG, "%s: table evicted for that of %s", victims[i]->path,
			eviction->newcomer->path);
	}
	return nr > 0;
}

/* Puts @table into the pool, at the cost of tables that are needed less. */
static int place(struct tables *tables, struct object *object, const struct table *table,
		 struct fpl_err *err)
{
	int code = pool_add(&tables->pool, table, &object->pool_first, &object->pool_size, err);

	if (code != -ENOSPC || table->image_bytes > pool_max_bytes(&tables->pool))
		return code;

	struct eviction eviction = begin_eviction(tables, object);

	while (code == -ENOSPC && evict(tables, &eviction, table->image_bytes))
		code = pool_add(&tables->pool, table, &object->pool_first, &object->pool_size, err);
	return code;
}

static void refuse(struct tables *tables, struct object *object, const struct table *table,
		   const struct fpl_err *err)
{
	bool is_news = !object->refused_ns;

	object->state = OBJECT_REFUSED;
	object->pool_size = table->image_bytes;
	object->refused_ns = usage_monotonic_ns();
	object->nr_refusals++;
	tables->nr_refused += is_news;
	tables->nr_waiting = UINT32_MAX;
	tables->changed = true;
	fpl_log(is_news && tables->nr_refused <= REFUSALS_SAID ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s: %s: its frames are no_table", object->path, err->msg);
}

static void publish_table(struct tables *tables, struct object *object, const struct table *table)
{
	struct fpl_err err = { 0 };

	if (place(tables, object, table, &err)) {
		refuse(tables, object, table, &err);
		return;
	}
	/* mappings of a refused object were published as having no table */
	if (object->nr_refusals)
		tables->changed = true;
	object->nr_refusals = 0;
	object->missed = 0;
	object->placed_ns = usage_monotonic_ns();
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
	if (table->stats.synth_refused)
		fpl_log(FPL_LOG_INFO,
			"%s: making rows from its code without CFI would cost more than it may: "
			"there are none",
			object->path);
}

/* Would tables that may go make room for that of the newcomer? */
static bool is_worth_it(struct tables *tables, const struct object *newcomer)
{
	struct eviction eviction = begin_eviction(tables, newcomer);
	uint64_t bytes = pool_max_bytes(&tables->pool) - pool_used_bytes(&tables->pool);
	struct object *taken[VICTIMS_MAX], *next;
	size_t nr = 0;

	while (bytes < newcomer->pool_size && nr < VICTIMS_MAX &&
	       (next = eviction_next(&eviction))) {
		bytes += next->pool_size;
		next->state = OBJECT_EVICTED; /* for eviction_next only */
		taken[nr++] = next;
	}
	for (size_t i = 0; i < nr; i++)
		taken[i]->state = OBJECT_READY;
	return bytes >= newcomer->pool_size;
}

void tables_review(struct tables *tables)
{
	uint64_t now = usage_monotonic_ns();
	uint32_t nr_waiting = 0, nr_tried = 0;

	if (!tables->nr_waiting || now < tables->reviewed_ns + RETRY_PAUSE_NS)
		return;
	tables->reviewed_ns = now;
	look(tables, now);
	for (uint32_t id = 1; id <= catalog_nr(tables->catalog); id++) {
		struct object *object = catalog_at(tables->catalog, id);

		if (object->state != OBJECT_REFUSED)
			continue;
		nr_waiting++;
		if (nr_tried == TRIES_PER_REVIEW || !may_try(object, now) || !object->missed ||
		    object->pool_size > pool_max_bytes(&tables->pool) ||
		    !is_worth_it(tables, object))
			continue;
		nr_tried++;
		object->state = OBJECT_IDLE;
		tables_want(tables, object);
	}
	tables->nr_waiting = nr_waiting;
}

size_t tables_collect(struct tables *tables)
{
	struct compiler_result result;
	size_t nr = 0;

	if (!compiler_nr_open(tables->compiler))
		return 0; /* as after nearly every drain */
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
		.evicted = tables->nr_evicted,
	};
	for (uint32_t id = 1; id <= catalog_nr(tables->catalog); id++) {
		const struct object *object = catalog_at(tables->catalog, id);

		if (object->state == OBJECT_REFUSED) {
			ret->refused++;
			ret->refused_bytes += object->pool_size;
		}
		if (object->state != OBJECT_READY)
			continue;
		ret->objects++;
		ret->rows += object->stats.rows;
		ret->rules += object->stats.rules;
	}
}
