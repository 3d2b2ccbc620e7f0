/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "profile/eviction.h"
#include "profile/table_use.h"

#define VICTIMS_MAX 64u /* tables evicted in one grace period */
/* A table is tried again when there is twice its room, since gaps do not always fit, but compiling
 * it costs CPU time each time. */
#define RETRY_PAUSE_NS	 1000000000ull
#define LOOK_PAUSE_NS	 500000000ull
#define TRIES_PER_REVIEW 8u
#define REFUSALS_SAID	 8u /* lines at warning level; the rest at debug */
/* Limit of partial tables made around samples before we wait for the full one; each scans the whole
 * text section. */
#define NEAR_TIMES_MAX 4u

int tables_init(struct tables *tables, const struct tables_config *config, struct fpl_err *err)
{
	*tables = (struct tables){ .config = *config };

	int code = pool_init(&tables->pool, config->max_bytes, config->make_chunk, config->make_ctx,
			     err);

	if (code)
		return code;
	code = compiler_create(config->parser, config->cache, config->synth, &tables->compiler,
			       err);
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
	uint32_t doublings = object->table.nr_refusals < 6 ? object->table.nr_refusals : 6;

	return now >= object->table.refused_ns + (RETRY_PAUSE_NS << doublings);
}

/* Was there no room for the table, and may there be some by now? */
static bool may_fit_now(const struct tables *tables, const struct object *object)
{
	uint64_t free_bytes = pool_max_bytes(&tables->pool) - pool_used_bytes(&tables->pool);

	return object->table.phase == TABLE_REFUSED &&
	       2ull * object->table.pool_size <= free_bytes &&
	       may_try(object, clock_monotonic_ns());
}

/* Has the table of @object compiled, if @event is a reason for that. */
static void ask(struct tables *tables, struct object *object, enum table_event event)
{
	if (table_state_may(&object->table, event) &&
	    !compiler_submit(tables->compiler, object, COMPILER_CFI, 0))
		table_state_move(&object->table, event);
}

void tables_want(struct tables *tables, struct object *object)
{
	ask(tables, object, may_fit_now(tables, object) ? TABLE_RETRIED : TABLE_WANTED);
}

void tables_want_made(struct tables *tables, struct object *object, struct table *table)
{
	if (!table_state_may(&object->table, TABLE_WANTED) ||
	    compiler_submit_made(tables->compiler, object, table))
		table_destroy(table);
	else
		table_state_move(&object->table, TABLE_WANTED);
}

static struct fpl_image image_of(const struct table *table, uint32_t base, uint32_t state)
{
	return (struct fpl_image){ .state = state,
				   .base = base,
				   .rules_off = table->rules_off,
				   .dir_off = table->dir_off };
}

/*
 * Publish a table in a slot without one. The kernel side takes a record for whole once it sees the
 * id: so the id goes in last.
 */
static void publish(struct tables *tables, const struct object *object,
		    const struct fpl_object *record)
{
	struct fpl_object *slot = &tables->config.slots[object->slot];

	__atomic_store_n(&slot->object, 0, __ATOMIC_RELEASE);
	slot->current = 0;
	slot->images[0] = record->images[0];
	slot->nr_pages = record->nr_pages;
	slot->script = record->script;
	slot->first_vaddr = record->first_vaddr;
	slot->entry_vaddr = record->entry_vaddr;
	__atomic_store_n(&slot->object, object->id, __ATOMIC_RELEASE);
}

/* Gives the space of what was replaced back, after one grace period. */
static void free_retired(struct tables *tables)
{
	if (!tables->nr_retired)
		return;
	tables_grace();
	for (size_t i = 0; i < tables->nr_retired; i++)
		pool_remove(&tables->pool, tables->retired[i].first, tables->retired[i].nr);
	tables->nr_retired = 0;
}

static void retire(struct tables *tables, const struct object *object)
{
	if (tables->nr_retired == TABLES_RETIRED_MAX)
		free_retired(tables);
	tables->retired[tables->nr_retired++] =
		(struct space_extent){ object->table.pool_first, object->table.pool_size };
}

/*
 * Replace the published table. No lookup reads the other image: it never was in force since the
 * object was published, or it was retired a grace period ago.
 */
static void replace(struct tables *tables, struct object *object, const struct fpl_image *image)
{
	struct fpl_object *slot = &tables->config.slots[object->slot];
	uint32_t other = !slot->current;

	if (object->table.is_replaced)
		free_retired(tables);
	slot->images[other] = *image;
	__atomic_store_n(&slot->current, other, __ATOMIC_RELEASE);
	object->table.is_replaced = true;
	object->table.nr_published++;
	retire(tables, object);
}

void tables_mark_mapped(struct tables *tables)
{
	tables->round++;
	tables->config.mark_mapped(tables->config.mark_ctx, tables->round);
}

/* Look what is used and what is mapped, unless that was just done. */
static void look(struct tables *tables, uint64_t now)
{
	if (tables->look && now < tables->looked_ns + LOOK_PAUSE_NS)
		return;
	tables->looked_ns = now;
	tables->look++;
	table_use_fade(tables->config.catalog);
	if (tables->config.look_at_use)
		tables->config.look_at_use(tables->config.use_ctx, tables->look);
	tables_mark_mapped(tables);
}

static struct eviction begin_eviction(struct tables *tables, const struct object *newcomer,
				      uint64_t bytes)
{
	uint64_t now = clock_monotonic_ns();

	look(tables, now);
	return (struct eviction){ .catalog = tables->config.catalog,
				  .newcomer = newcomer,
				  .bytes = bytes,
				  .max_bytes = pool_max_bytes(&tables->pool),
				  .now_ns = now,
				  .look = tables->look,
				  .round = tables->round };
}

/* Free at least @bytes of tables worth less than the newcomer's, after one grace period; false:
 * impossible. */
static bool evict(struct tables *tables, struct eviction *eviction, uint64_t bytes)
{
	struct object *victims[VICTIMS_MAX], *victim;
	size_t nr = 0;

	for (uint64_t freed = 0; freed < bytes && nr < VICTIMS_MAX;
	     freed += victim->table.pool_size) {
		victim = eviction_next(eviction);
		if (!victim)
			break;
		__atomic_store_n(&tables->config.slots[victim->slot].object, 0, __ATOMIC_RELEASE);
		table_state_move(&victim->table, TABLE_GAVE_WAY);
		victims[nr++] = victim;
	}
	if (nr)
		tables_grace();
	for (size_t i = 0; i < nr; i++) {
		pool_remove(&tables->pool, victims[i]->table.pool_first,
			    victims[i]->table.pool_size);
		tables->nr_evicted++;
		share_take(&tables->given_up, victims[i]->owner, 1);
		fpl_log(FPL_LOG_DEBUG, "%s: table evicted for that of %s", victims[i]->path,
			eviction->newcomer->path);
	}
	return nr > 0;
}

bool tables_may_forget(const struct tables *tables, const struct object *object)
{
	for (size_t i = 0; i < tables->nr_awaited; i++) {
		if (tables->awaited[i] == object)
			return false;
	}
	return object->table.phase != TABLE_QUEUED && !object->table.whole_queued &&
	       !object->table.near_queued;
}

void tables_forget(struct tables *tables, struct object *const *objects, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		__atomic_store_n(&tables->config.slots[objects[i]->slot].object, 0,
				 __ATOMIC_RELEASE);
	tables_grace();
	for (size_t i = 0; i < nr; i++) {
		if (table_state_is_placed(&objects[i]->table))
			pool_remove(&tables->pool, objects[i]->table.pool_first,
				    objects[i]->table.pool_size);
		table_state_move(&objects[i]->table, TABLE_FORGOTTEN);
		if (tables->config.scripts)
			scripts_forget(tables->config.scripts, objects[i]->id);
	}
}

/* Puts @table into the pool, at the cost of tables that are needed less, but not of the one that
 * @object has. */
static int place(struct tables *tables, const struct object *object, const struct table *table,
		 struct space_extent *ret, struct fpl_err *err)
{
	int code = pool_add(&tables->pool, table, &ret->first, &ret->nr, err);

	if (code == -ENOSPC && tables->nr_retired) {
		free_retired(tables);
		code = pool_add(&tables->pool, table, &ret->first, &ret->nr, err);
	}
	if (code != -ENOSPC || table->image_bytes > pool_max_bytes(&tables->pool))
		return code;

	struct eviction eviction = begin_eviction(tables, object, table->image_bytes);
	char text[OWNER_TEXT_SIZE];

	while (code == -ENOSPC && evict(tables, &eviction, table->image_bytes))
		code = pool_add(&tables->pool, table, &ret->first, &ret->nr, err);
	if (code == -ENOSPC && eviction_is_beyond_share(&eviction))
		fpl_fail(err, code, "%s has half of --table-memory, and others want the rest",
			 owner_text(object->owner, text));
	return code;
}

static void refuse(struct tables *tables, struct object *object, const struct table *table,
		   const struct fpl_err *err)
{
	bool is_news = !object->table.refused_ns;

	table_state_move(&object->table, TABLE_HAS_NO_ROOM);
	object->table.pool_size = table->image_bytes;
	object->table.refused_ns = clock_monotonic_ns();
	object->table.nr_refusals++;
	tables->nr_refused += is_news;
	if (is_news)
		share_take(&tables->given_up, object->owner, 1);
	tables->nr_waiting = UINT32_MAX;
	tables->changed = true;
	fpl_log(is_news && tables->nr_refused <= REFUSALS_SAID ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s: %s: its frames are no_table", object->path, err->msg);
}

static void say_refused(const struct object *object)
{
	fpl_log(FPL_LOG_WARN, "%s: unwind rows not synthesised: over budget (2 s CPU or 256 MiB)%s",
		object->path,
		object->table.stats.synth_bytes ? ", except around some samples" : "");
}

static void say_table(const struct object *object, const struct table *table)
{
	fpl_log(FPL_LOG_DEBUG, "%s: object %u: table of %u bytes, %llu rows%s", object->path,
		object->id, table->image_bytes, (unsigned long long)table->stats.rows,
		table->stats.synth_left ? ", those from code to come" : "");
	if (table->stats.synth_refused && !table->stats.synth_left)
		say_refused(object);
}

/* The table that is published is all there will be. */
static void settle(struct tables *tables, struct object *object)
{
	struct fpl_object *slot = &tables->config.slots[object->slot];

	table_state_move(&object->table, TABLE_MADE_WHOLE);
	__atomic_store_n(&slot->images[slot->current].state, FPL_TABLE_READY, __ATOMIC_RELEASE);
}

/*
 * Take a table whose rows from code were over budget: it has no more rows than the published one,
 * which may have some around samples.
 */
static void take_refusal(struct tables *tables, struct object *object, enum compiler_part part)
{
	if (part == COMPILER_NEAR) {
		object->table.nr_near = NEAR_TIMES_MAX; /* nor would another, at the same price */
		return;
	}
	settle(tables, object);
	object->table.stats.synth_refused = 1;
	object->table.stats.synth_left = 0;
	say_refused(object);
}

void tables_wait_no_more(struct tables *tables, struct object *object)
{
	struct fpl_object *slot = &tables->config.slots[object->slot];

	if (object->table.phase != TABLE_PARTIAL || object->table.is_late)
		return;
	object->table.is_late = true;
	object->table.nr_published++;
	__atomic_store_n(&slot->images[slot->current].state, FPL_TABLE_LATE, __ATOMIC_RELEASE);
	fpl_log(FPL_LOG_DEBUG, "%s: samples wait no more for rows from its code", object->path);
}

/* The state of a table that lacks rows from code. */
static uint32_t partial_state(const struct object *object)
{
	return object->table.is_late ? FPL_TABLE_LATE : FPL_TABLE_PARTIAL;
}

/* Samples begin to wait for rows from the code of @object. */
static void await(struct tables *tables, struct object *object)
{
	object->table.wait_ns = clock_monotonic_ns();
	if (tables->nr_awaited == TABLES_AWAITED_MAX)
		tables_wait_no_more(tables, object);
	else
		tables->awaited[tables->nr_awaited++] = object;
}

/* Returns for how many objects samples have waited too long. */
static size_t expire(struct tables *tables)
{
	uint64_t now = tables->nr_awaited ? clock_monotonic_ns() : 0;
	size_t nr = 0;

	for (size_t i = tables->nr_awaited; i-- > 0;) {
		struct object *object = tables->awaited[i];
		bool waits = object->table.phase == TABLE_PARTIAL && object->table.wait_ns;

		if (waits && now <= object->table.wait_ns + TABLES_WAIT_NS)
			continue;
		if (waits) {
			tables_wait_no_more(tables, object);
			nr++;
		}
		tables->awaited[i] = tables->awaited[--tables->nr_awaited];
	}
	return nr;
}

/* Has rows from the code of @object made, for a sample that ended at @vaddr, and then all of them.
 */
static void want_rows(struct tables *tables, struct object *object, uint64_t vaddr)
{
	if (!object->table.wait_ns)
		await(tables, object);
	if (object->table.near_queued)
		compiler_add_near(tables->compiler, object, vaddr);
	else if (compiler_is_slow(object) && object->table.nr_near < NEAR_TIMES_MAX &&
		 !compiler_submit(tables->compiler, object, COMPILER_NEAR, vaddr))
		object->table.near_queued = true;
	if (object->table.whole_queued)
		return;
	if (compiler_submit(tables->compiler, object, COMPILER_WHOLE, 0))
		settle(tables, object);
	else
		object->table.whole_queued = true;
}

void tables_need(struct tables *tables, struct object *object, uint64_t vaddr)
{
	if (object->table.phase == TABLE_PARTIAL) {
		want_rows(tables, object, vaddr);
		return;
	}
	ask(tables, object, may_fit_now(tables, object) ? TABLE_RETRIED : TABLE_NEEDED);
	if (object->table.phase == TABLE_QUEUED && !object->table.is_urgent) {
		compiler_hasten(tables->compiler, object);
		object->table.is_urgent = true;
	}
}

/* Does @table say how code that @object makes is walked? */
static void find_made_rule(struct tables *tables, struct object *object, const struct table *table)
{
	bool is_named = object->maker == CODE_MAKER_LUAJIT;

	if ((is_named && object->made_rule.cfa) || (!is_named && object->maker != CODE_MAKER_NONE))
		return;
	if (table->script.makes_code) {
		object->maker = CODE_MAKER_CPYTHON;
		object->made_reg = table->script.made_reg;
		tables->changed = true;
		return;
	}
	if (table_find_rule(table, FPL_CFA_LUAJIT, &object->made_rule)) {
		object->maker = CODE_MAKER_LUAJIT;
		tables->changed = true;
	} else if (is_named && tables->config.synth) {
		fpl_log(FPL_LOG_WARN,
			"%s: LuaJIT of another form: its code made at run time is walked by frame pointers",
			object->path);
	}
}

/* Publish the table of an object without one. */
static void publish_table(struct tables *tables, struct object *object, const struct table *table)
{
	bool partial = table->stats.synth_left;
	struct space_extent extent;
	struct fpl_err err = { 0 };
	uint32_t script = 0;

	if (place(tables, object, table, &extent, &err)) {
		refuse(tables, object, table, &err);
		return;
	}
	object->table.pool_first = extent.first;
	object->table.pool_size = extent.nr;
	/* mappings of a refused object were published as having no table */
	if (object->table.nr_refusals)
		tables->changed = true;
	object->table.nr_refusals = 0;
	object->table.missed = 0;
	object->table.placed_ns = clock_monotonic_ns();
	table_state_move(&object->table, partial ? TABLE_MADE_PARTIAL : TABLE_MADE_WHOLE);
	object->table.stats = table->stats;
	object->table.is_replaced = false;
	object->table.is_late = false;
	object->table.wait_ns = 0;
	if (tables->config.scripts)
		script = scripts_rule(tables->config.scripts, object->id, object->path,
				      &table->script);
	find_made_rule(tables, object, table);
	object->table.nr_published++;
	publish(tables, object,
		&(struct fpl_object){
			.images = { image_of(table, extent.first,
					     partial ? FPL_TABLE_PARTIAL : FPL_TABLE_READY) },
			.nr_pages = table->nr_pages,
			.script = script,
			.first_vaddr = table->first_vaddr,
			.entry_vaddr = table->entry_vaddr });
	say_table(object, table);
}

static void publish_none(struct tables *tables, struct object *object,
			 const struct compiler_result *result)
{
	table_state_move(&object->table, TABLE_MADE_NONE);
	publish(tables, object,
		&(struct fpl_object){ .images = { { .state = FPL_TABLE_NONE } },
				      .entry_vaddr = object->elf->entry });
	fpl_log(result->code == -ENODATA ? FPL_LOG_DEBUG : FPL_LOG_WARN, "%s: no unwind table",
		result->err.msg);
}

/* Does @table cover the same pages as the one that is published? A worker may say anything. */
static bool fits(const struct tables *tables, const struct object *object,
		 const struct table *table)
{
	const struct fpl_object *slot = &tables->config.slots[object->slot];

	return table->first_vaddr == slot->first_vaddr && table->nr_pages == slot->nr_pages;
}

/* A table that says more takes the place of the one that lacks rows from code, which else stays; a
 * whole one is the last. */
static void complete(struct tables *tables, struct object *object, struct compiler_result *result)
{
	const struct table *table = result->table;
	struct space_extent extent;
	int code = result->code;

	if (table && table->stats.synth_refused) {
		take_refusal(tables, object, result->part);
		return;
	}
	if (table && !fits(tables, object, table))
		code = fpl_fail(&result->err, -EINVAL, "%s: was changed meanwhile", object->path);
	else if (table)
		code = place(tables, object, table, &extent, &result->err);
	if (code && result->part == COMPILER_NEAR)
		return; /* the whole one says it */
	if (code) {
		settle(tables, object);
		fpl_log(code == -ENODATA ? FPL_LOG_DEBUG : FPL_LOG_WARN,
			"%s: no rows from its code without CFI: %s", object->path, result->err.msg);
		return;
	}

	bool partial = result->part == COMPILER_NEAR;
	struct fpl_image image =
		image_of(table, extent.first, partial ? partial_state(object) : FPL_TABLE_READY);

	replace(tables, object, &image);
	object->table.pool_first = extent.first;
	object->table.pool_size = extent.nr;
	table_state_move(&object->table, partial ? TABLE_MADE_PARTIAL : TABLE_MADE_WHOLE);
	object->table.stats = table->stats;
	say_table(object, table);
}

/*
 * A table may have been evicted, and asked for again, since its whole one was: what comes first is
 * published then, the whole one in any case where one is wanted.
 */
static void take_result(struct tables *tables, struct object *object,
			struct compiler_result *result)
{
	if (result->part == COMPILER_CFI)
		object->table.is_urgent = false;
	if (result->part == COMPILER_WHOLE)
		object->table.whole_queued = false;
	if (result->part == COMPILER_NEAR) {
		object->table.near_queued = false;
		object->table.nr_near++;
	}
	if (result->part != COMPILER_CFI && object->table.phase == TABLE_PARTIAL)
		complete(tables, object, result);
	else if (object->table.phase == TABLE_QUEUED && result->table)
		publish_table(tables, object, result->table);
	else if (object->table.phase == TABLE_QUEUED && result->part == COMPILER_CFI)
		publish_none(tables, object, result);
}

/* Would tables that may go make room for that of the newcomer? */
static bool is_worth_it(struct tables *tables, const struct object *newcomer)
{
	struct eviction eviction = begin_eviction(tables, newcomer, newcomer->table.pool_size);
	uint64_t bytes = pool_max_bytes(&tables->pool) - pool_used_bytes(&tables->pool);
	struct object *chosen[VICTIMS_MAX], *next;
	size_t nr = 0;

	while (bytes < newcomer->table.pool_size && nr < VICTIMS_MAX &&
	       (next = eviction_next(&eviction))) {
		bytes += next->table.pool_size;
		next->table.is_chosen = true;
		chosen[nr++] = next;
	}
	for (size_t i = 0; i < nr; i++)
		chosen[i]->table.is_chosen = false;
	return bytes >= newcomer->table.pool_size;
}

void tables_review(struct tables *tables)
{
	uint64_t now = clock_monotonic_ns();
	uint32_t nr_waiting = 0, nr_tried = 0;

	free_retired(tables);
	if (!tables->nr_waiting || now < tables->reviewed_ns + RETRY_PAUSE_NS)
		return;
	tables->reviewed_ns = now;
	look(tables, now);
	for (size_t i = 0; i < catalog_nr_live(tables->config.catalog); i++) {
		struct object *object = catalog_live(tables->config.catalog, i);

		if (object->table.phase != TABLE_REFUSED)
			continue;
		nr_waiting++;
		if (nr_tried == TRIES_PER_REVIEW || !may_try(object, now) ||
		    !object->table.missed ||
		    object->table.pool_size > pool_max_bytes(&tables->pool) ||
		    !is_worth_it(tables, object))
			continue;
		nr_tried++;
		ask(tables, object, TABLE_RETRIED);
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
		take_result(tables, catalog_at(tables->config.catalog, result.object), &result);
		if (result.is_new)
			table_writer_keep(tables->config.writer, &result.key, result.table);
		else
			table_destroy(result.table);
	}
	return nr + expire(tables);
}

void tables_stats(const struct tables *tables, struct profile_tables *ret)
{
	*ret = (struct profile_tables){
		.bytes = pool_used_bytes(&tables->pool),
		.allocated_bytes = pool_allocated_bytes(&tables->pool),
		.evicted = tables->nr_evicted,
	};
	for (size_t i = 0; i < catalog_nr_live(tables->config.catalog); i++) {
		const struct object *object = catalog_live(tables->config.catalog, i);

		if (object->table.phase == TABLE_REFUSED) {
			ret->refused++;
			ret->refused_bytes += object->table.pool_size;
		}
		if (!table_state_is_placed(&object->table))
			continue;
		ret->objects++;
		ret->rows += object->table.stats.rows;
		ret->rules += object->table.stats.rules;
		ret->synth_refused += object->table.stats.synth_refused != 0;
	}
}

void tables_count(const struct catalog *catalog, size_t *nr_made, size_t *nr)
{
	*nr_made = *nr = 0;
	for (size_t i = 0; i < catalog_nr_live(catalog); i++) {
		enum table_phase phase = catalog_live(catalog, i)->table.phase;

		*nr += phase != TABLE_IDLE;
		*nr_made += phase != TABLE_IDLE && phase != TABLE_QUEUED;
	}
}
