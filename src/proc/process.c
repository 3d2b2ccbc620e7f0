/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/owner.h"

#define SCAN_PAUSE_MIN_NS 1000000ull	/* a reading of maps costs 50 to 500 us */
#define SCAN_PAUSE_MAX_NS 1000000000ull /* so a storm costs less than 0.1 % per process */

/* Time after dlclose and dlopen on one address during which the next is expected. */
#define RESTLESS_NS 1000000000ull

int processes_init(struct processes *table, void (*retire)(void *ctx, const struct run *run),
		   void *ctx)
{
	*table = (struct processes){ .nr_buckets = 1024, .retire = retire, .ctx = ctx };
	table->buckets = calloc(table->nr_buckets, sizeof(struct process *));
	return table->buckets ? 0 : -ENOMEM;
}

void process_set_run(const struct processes *table, struct process *process, struct run *run)
{
	struct run *old = process->run;

	process->run = run;
	if (!old || --old->refs)
		return;
	if (table->retire)
		table->retire(table->ctx, old);
	free(old);
}

static void forget(struct process *process)
{
	if (!process->changed_link)
		return;
	*process->changed_link = process->next_changed;
	if (process->next_changed)
		process->next_changed->changed_link = process->changed_link;
	process->changed_link = NULL;
}

static void process_free(const struct processes *table, struct process *process)
{
	forget(process);
	process_set_run(table, process, NULL);
	mapset_put(process->mapset);
	free(process->regions);
	free(process);
}

void processes_fini(struct processes *table)
{
	for (size_t i = 0; table->buckets && i < table->nr_buckets; i++) {
		for (struct process *p = table->buckets[i], *next; p; p = next) {
			next = p->next;
			process_free(table, p);
		}
	}
	free(table->buckets);
	*table = (struct processes){ 0 };
}

/* Pids are dense, so their low bits spread well. */
static struct process **bucket_of(const struct processes *table, uint32_t pid)
{
	return &table->buckets[pid & (table->nr_buckets - 1)];
}

struct process *processes_find(const struct processes *table, uint32_t pid)
{
	struct process *p = *bucket_of(table, pid);

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

struct process *processes_get(struct processes *table, uint32_t pid)
{
	struct process *p = processes_find(table, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->mapset = mapset_create();
	if (!p->mapset) {
		free(p);
		return NULL;
	}

	struct process **bucket = bucket_of(table, pid);

	p->pid = pid;
	p->next = *bucket;
	*bucket = p;
	table->nr++;
	return p;
}

void processes_remove(struct processes *table, uint32_t pid)
{
	struct process **link = bucket_of(table, pid);

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;

	struct process *gone = *link;

	if (!gone)
		return;
	*link = gone->next;
	table->nr--;
	process_free(table, gone);
}

void processes_each(const struct processes *table, void (*fn)(struct process *, void *), void *ctx)
{
	for (size_t i = 0; i < table->nr_buckets; i++) {
		for (struct process *p = table->buckets[i]; p; p = p->next)
			fn(p, ctx);
	}
}

uint64_t process_owner(struct process *process)
{
	if (!process->has_owner)
		process->owner = owner_of_process((pid_t)process->pid);
	process->has_owner = true;
	return process->owner;
}

void process_tell_owner(struct process *process, uint64_t owner)
{
	if (process->has_owner || owner == OWNER_UNKNOWN)
		return;
	process->owner = owner;
	process->has_owner = true;
}

static bool has_changed(const struct process *process)
{
	return process->wanted && (process->dirty || process->restless || process->asks_again);
}

void processes_note(struct processes *table, struct process *process)
{
	if (process->changed_link || !has_changed(process))
		return;
	process->next_changed = table->changed;
	process->changed_link = &table->changed;
	if (process->next_changed)
		process->next_changed->changed_link = &process->next_changed;
	table->changed = process;
}

void processes_each_changed(struct processes *table, void (*fn)(struct process *, void *),
			    void *ctx)
{
	for (struct process *p = table->changed, *next; p; p = next) {
		next = p->next_changed;
		fn(p, ctx);
		if (!has_changed(p))
			forget(p);
	}
}

int process_exec(struct process *process)
{
	struct mapset *empty = mapset_create();

	if (!empty)
		return -ENOMEM;
	mapset_put(process->mapset);
	process->mapset = empty;
	if (process->gen)
		process->past_gen = process->gen;
	process->gen = 0;
	process->parent_gen = 0;
	process->complete = true;
	process->dirty = true;
	process->in_exec = true;
	process->has_owner = false;
	process->main_object = 0;
	process->interp_object = 0;
	process->scanned_ns = 0;
	process->scan_pause_ns = 0;
	process->next_scan_ns = 0;
	process->restless = false;
	process->next_raw_ns = 0;
	process->nr_regions = 0;
	process->maker = PROCESS_MAKER_UNKNOWN;
	process->names_base = 0;
	process->registers = false;
	process->asks_again = false;
	process->nr_no_list = 0;
	process->made_ns = 0;
	process->asked_made_ns = 0;
	process->rest_ns = 0;
	process->next_ask_ns = 0;
	process->ask_pause_ns = 0;
	return 0;
}

void process_fork(struct process *child, const struct process *parent, uint64_t time_ns)
{
	mapset_put(child->mapset);
	child->mapset = mapset_get(parent->mapset);
	child->run = parent->run;
	if (child->run)
		child->run->refs++;
	child->version = parent->version;
	child->complete = parent->complete;
	child->scanned_ns = parent->scanned_ns;
	child->main_object = parent->main_object;
	child->interp_object = parent->interp_object;
	child->in_exec = parent->in_exec;
	child->restless = parent->restless;
	child->has_owner = parent->has_owner;
	child->owner = parent->owner;
	child->replaced_ns = parent->replaced_ns;
	child->gen = 0;
	child->past_gen = 0;
	child->parent_gen = parent->gen;
	child->published_ns = parent->published_ns;
	child->dirty = parent->dirty || !parent->run || time_ns <= parent->published_ns;
}

/* The reference of the region that all of @map, which has no object, lies in; else its own bias:
 * process_place_regions() divides what lies in parts of several. */
static uint64_t find_region(const struct process *process, const struct fpl_mapping *map)
{
	for (uint32_t i = 0; i < process->nr_regions; i++) {
		const struct process_region *region = &process->regions[i];

		if (map->start >= region->end || map->end <= region->start)
			continue;
		return region->start <= map->start && map->end <= region->end ? region->ref
									      : map->bias;
	}
	return map->bias;
}

int process_map(struct process *process, const struct fpl_mapping *map, bool vdso, uint64_t time_ns)
{
	if (time_ns <= process->scanned_ns)
		return 0;

	struct fpl_mapping flagged = *map;

	if (process->in_exec && vdso) {
		process->in_exec = false;
	} else if (process->in_exec && map->object) {
		if (!process->main_object)
			process->main_object = map->object;
		else if (process->main_object != map->object && !process->interp_object)
			process->interp_object = map->object;
	}
	if (map->object && map->object == process->main_object)
		flagged.flags |= FPL_MAPPING_MAIN;
	if (map->object && map->object == process->interp_object)
		flagged.flags |= FPL_MAPPING_INTERP;
	/* at once: samples may be walked in userspace before the mapset is published */
	if (map->flags & FPL_MAPPING_ANON)
		flagged.bias = find_region(process, map);

	bool replaces = mapset_has_other(process->mapset, &flagged);
	int code = mapset_add(&process->mapset, &flagged);

	if (!code)
		process->dirty = true;
	if (!code && (map->flags & FPL_MAPPING_ANON))
		process->made_ns = time_ns;
	if (!code && replaces) {
		process->restless = true;
		process->replaced_ns = time_ns;
	}
	return code;
}

bool process_settles(struct process *process, uint64_t now_ns)
{
	if (!process->restless || now_ns < process->replaced_ns + RESTLESS_NS)
		return false;
	process->restless = false;
	process->dirty = true;
	return true;
}

bool process_gen(struct process *process, uint64_t gen)
{
	if (process->gen == gen)
		return true;
	if (process->gen == 0 && gen != process->past_gen) {
		process->gen = gen;
		process->dirty = true;
		return true;
	}
	return false;
}

static bool same_mappings(const struct mapset *a, const struct mapset *b)
{
	return a->nr == b->nr &&
	       (a->nr == 0 || memcmp(a->mappings, b->mappings, a->nr * sizeof(*a->mappings)) == 0);
}

void process_scanned(struct process *process, struct mapset *set, uint64_t time_ns)
{
	if (!same_mappings(process->mapset, set)) {
		process->dirty = true;
		process->made_ns = time_ns;
	}
	mapset_put(process->mapset);
	process->mapset = set;
	process->scanned_ns = time_ns;
	process->complete = true;
	process->in_exec = false;
}

bool process_may_scan(struct process *process, uint64_t now_ns)
{
	if (now_ns < process->next_scan_ns)
		return false;
	process->scan_pause_ns =
		process->scan_pause_ns ? process->scan_pause_ns * 2 : SCAN_PAUSE_MIN_NS;
	if (process->scan_pause_ns > SCAN_PAUSE_MAX_NS)
		process->scan_pause_ns = SCAN_PAUSE_MAX_NS;
	process->next_scan_ns = now_ns + process->scan_pause_ns;
	return true;
}

int process_add_region(struct process *process, uint64_t start, uint64_t end, uint64_t ref)
{
	if (!process->regions)
		process->regions = calloc(PROCESS_REGIONS_MAX, sizeof(*process->regions));
	if (!process->regions)
		return -ENOMEM;
	if (process->nr_regions >= PROCESS_REGIONS_MAX)
		return -ENOSPC;
	process->regions[process->nr_regions++] =
		(struct process_region){ .start = start, .end = end, .ref = ref };
	return 0;
}

/* Is @ref that of one of the first @nr regions? */
static bool is_one_of(const struct process *process, uint32_t nr, uint64_t ref)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (process->regions[i].ref == ref)
			return true;
	}
	return false;
}

/* The part of the first mapping from @from on that lies in region @idx and does not say so yet, nor
 * is in one before it. */
static bool find_unplaced(const struct process *process, uint32_t idx, uint64_t from,
			  struct fpl_mapping *ret)
{
	const struct process_region *region = &process->regions[idx];
	const struct mapset *set = process->mapset;

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct fpl_mapping *map = &set->mappings[i];
		uint64_t start = map->start > from ? map->start : from;
		uint64_t end = map->end < region->end ? map->end : region->end;

		if (map->start >= region->end)
			return false;
		if (start >= end || !(map->flags & FPL_MAPPING_ANON) ||
		    is_one_of(process, idx + 1, map->bias))
			continue;
		*ret = *map;
		ret->start = start;
		ret->end = end;
		ret->bias = region->ref;
		return true;
	}
	return false;
}

void process_place_regions(struct process *process)
{
	for (uint32_t i = 0; i < process->nr_regions; i++) {
		uint64_t from = process->regions[i].start;
		struct fpl_mapping map;

		while (find_unplaced(process, i, from, &map)) {
			if (mapset_add(&process->mapset, &map))
				return;
			from = map.end;
			process->dirty = true;
		}
	}
}
