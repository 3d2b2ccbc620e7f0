/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/publisher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "profile/share.h"

/* Retired entries that make a collection worth its grace period (10 to 30 ms) before it must be. */
#define COLLECT_ENTRIES 16384u
/* From how many mappings on a process waits between two publications, and how long for each. */
#define PACED_MAPPINGS 1024u
#define PACE_NS	       10000ull
#define RETRY_NS       1000000000ull /* until room is looked for again */
/* Between two counts of what each owner has: its processes may be many. */
#define SHARE_NS 100000000ull

int publisher_init(struct publisher *publisher, const struct publisher_config *config)
{
	*publisher = (struct publisher){ .config = *config };
	return space_init(&publisher->space, config->nr_entries);
}

void publisher_fini(struct publisher *publisher)
{
	space_fini(&publisher->space);
	vector_fini(&publisher->retired);
	*publisher = (struct publisher){ 0 };
}

void publisher_retire(struct publisher *publisher, const struct run *run)
{
	if (!run->nr)
		return;
	if (vector_push(&publisher->retired, (struct space_extent){ run->first, run->nr }))
		return; /* these entries are never used again */
	publisher->retired_entries += run->nr;
}

static int by_first(const void *a, const void *b)
{
	uint32_t x = ((const struct fpl_mapset *)a)->first;
	uint32_t y = ((const struct fpl_mapset *)b)->first;

	return (x > y) - (x < y);
}

/* Runs that are in use do not overlap, so one that is named is named by its first entry. */
static bool is_named(const struct fpl_mapset *sorted, uint32_t nr, uint32_t first)
{
	struct fpl_mapset key = { .first = first };

	return bsearch(&key, sorted, nr, sizeof(*sorted), by_first) != NULL;
}

void publisher_collect(struct publisher *publisher)
{
	AUTO_FREE struct fpl_mapset *values = calloc(publisher->config.nr_mapsets, sizeof(*values));
	AUTO_FREE uint32_t *pids = calloc(publisher->config.nr_mapsets, sizeof(*pids));

	if (!values || !pids || !publisher->retired.nr)
		return;
	/* a fork that read a mapset before it was replaced has written the child's when this ends
	 */
	publisher->config.ops->grace(publisher->config.ctx);

	int nr = publisher->config.ops->read_all(publisher->config.ctx, pids, values,
						 publisher->config.nr_mapsets);

	if (nr < 0)
		return;

	uint32_t nr_live = 0, nr_removed = 0;

	for (int i = 0; i < nr; i++) {
		if (!processes_find(publisher->config.processes, pids[i])) {
			/* written after its process had gone */
			publisher->config.ops->remove(publisher->config.ctx, pids[i]);
			nr_removed++;
		} else if (values[i].nr) {
			values[nr_live++] = values[i];
		}
	}
	/* a removed mapset may still be read by a program that runs now */
	if (nr_removed)
		publisher->config.ops->grace(publisher->config.ctx);
	qsort(values, nr_live, sizeof(*values), by_first);

	size_t kept = 0;

	for (size_t i = 0; i < publisher->retired.nr; i++) {
		struct space_extent run = publisher->retired.list[i];

		if (is_named(values, nr_live, run.first) ||
		    space_free(&publisher->space, run.first, run.nr))
			publisher->retired.list[kept++] = run;
		else
			publisher->retired_entries -= run.nr;
	}
	publisher->retired.nr = kept;
}

/* Copies the mappings; one whose object was refused a table says so by slot 0. */
static void write_run(struct publisher *publisher, uint32_t first, const struct mapset *set)
{
	for (uint32_t i = 0; i < set->nr; i++) {
		struct fpl_mapping mapping = set->mappings[i];
		const struct object *object = catalog_at(publisher->config.catalog, mapping.object);

		if (object && object->table.phase == TABLE_REFUSED)
			mapping.slot = 0;
		publisher->config.entries[first + i] = mapping;
	}
}

static int alloc_run(struct publisher *publisher, uint32_t nr, struct run **ret)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->refs = 1;
	run->nr = nr;

	int code = nr ? space_alloc(&publisher->space, nr, 1, 0, &run->first) : 0;

	if (code == -ENOSPC && publisher->retired.nr) {
		publisher_collect(publisher);
		code = space_alloc(&publisher->space, nr, 1, 0, &run->first);
	}
	if (code) {
		free(run);
		return code;
	}
	if (publisher->space.in_use > publisher->peak)
		publisher->peak = publisher->space.in_use;
	*ret = run;
	return 0;
}

/* Never one that was used before: what is remembered under it is believed. */
static uint32_t next_serial(struct publisher *publisher)
{
	return publisher->serial < UINT32_MAX ? ++publisher->serial : 0;
}

/*
 * Writing many mappings anew for each one that is added would leave no time for the ring, and so
 * would looking for room that is not there. Until then samples in the new ones are walked in
 * userspace.
 */
static bool is_too_soon(const struct process *process)
{
	return process->next_publish_ns && !process->restless &&
	       clock_monotonic_ns() < process->next_publish_ns;
}

/* Writes @run, of the mapset of @process, and has the kernel side use it. */
static int write_mapset(struct publisher *publisher, struct process *process, const struct run *run)
{
	if (run->nr)
		write_run(publisher, run->first, process->mapset);

	struct fpl_mapset value = {
		.gen = process->gen,
		.first = run->first,
		.nr = run->nr,
		.version = ++process->version,
		.serial = next_serial(publisher),
	};

	value.check = fpl_mapset_check(&value);

	int code = publisher->config.ops->update(publisher->config.ctx, process->pid, &value);

	process->published_ns = clock_monotonic_ns();
	return code;
}

/* Publishes the first @nr mappings: all of them, or none. */
static int publish_run(struct publisher *publisher, struct process *process, uint32_t nr)
{
	struct run *run = NULL;
	int code = alloc_run(publisher, nr, &run);

	if (code)
		return code;
	code = write_mapset(publisher, process, run);
	if (code) {
		publisher_retire(publisher, run);
		free(run);
	} else {
		process_set_run(publisher->config.processes, process, run);
	}
	return code;
}

/* The number of each owner's entries, and the owner with more than its share. */
struct owner_count {
	struct publisher *publisher;
	struct share_book book;
	uint64_t heavy; /* the owner looked for */
	struct process *largest;
};

static void count_one(struct process *process, void *ctx)
{
	struct owner_count *count = ctx;
	struct run *run = process->run;

	if (!run || !run->nr || run->round == count->publisher->round)
		return;
	run->round = count->publisher->round;
	share_take(&count->book, process_owner(process), run->nr);
}

static void find_largest(struct process *process, void *ctx)
{
	struct owner_count *count = ctx;

	if (!process->run || !process->run->nr || process_owner(process) != count->heavy)
		return;
	if (!count->largest || process->run->nr > count->largest->run->nr)
		count->largest = process;
}

/* Unpublishes processes of @owner until it has its share. Returns whether that made room. */
static bool take_from(struct owner_count *count, uint64_t owner)
{
	struct publisher *publisher = count->publisher;
	bool any = false;

	count->heavy = owner;
	while (!share_allows(&count->book, owner, 0, publisher->space.size)) {
		count->largest = NULL;
		processes_each(publisher->config.processes, find_largest, count);
		if (!count->largest)
			break;

		struct process *process = count->largest;
		uint32_t nr = process->run->nr;
		bool is_last = process->run->refs == 1;

		if (publish_run(publisher, process, 0))
			break;
		share_take(&publisher->refused, owner, 1);
		process->dirty = true;
		process->next_publish_ns = clock_monotonic_ns() + RETRY_NS;
		if (is_last)
			share_give_back(&count->book, owner, nr);
		any = true;
	}
	return any;
}

/*
 * Without room for @nr mappings of @process, find an owner with more than its share. Returns 0 if
 * there is more room now. Errors: -EDQUOT it is the owner of @process; -ENOSPC there is no such
 * owner.
 */
static int claim_share(struct publisher *publisher, struct process *process, uint32_t nr)
{
	AUTO_FREE struct owner_count *count = NULL;
	uint64_t now = clock_monotonic_ns(), owner = process_owner(process);
	int code = -ENOSPC;

	if (now < publisher->next_share_ns)
		return -ENOSPC;
	publisher->next_share_ns = now + SHARE_NS;
	count = calloc(1, sizeof(*count));
	if (!count)
		return -ENOSPC;
	count->publisher = publisher;
	publisher->round++;
	processes_each(publisher->config.processes, count_one, count);
	/* what it has goes once it has the new ones */
	if (process->run && process->run->refs == 1)
		share_give_back(&count->book, owner, process->run->nr);
	if (!share_allows(&count->book, owner, nr, publisher->space.size))
		return -EDQUOT;
	for (size_t i = 0; i < count->book.nr; i++) {
		if (count->book.owners[i].owner != owner &&
		    take_from(count, count->book.owners[i].owner))
			code = 0;
	}
	return code;
}

static void say_refused(struct publisher *publisher, struct process *process, int code)
{
	char text[OWNER_TEXT_SIZE];

	share_take(&publisher->refused, process_owner(process), 1);
	if (code == -EDQUOT && publisher->nr_beyond_share++ == 0)
		fpl_log(FPL_LOG_WARN,
			"pid %u: no room for its %u mappings: %s has half of all: stacks of these "
			"processes are walked in userspace: more --max-mappings",
			process->pid, process->mapset->nr,
			owner_text(process_owner(process), text));
	if (publisher->nr_refused++ == 0 && code != -EDQUOT)
		fpl_log(FPL_LOG_WARN,
			"pid %u: no room for its %u mappings: its stacks are walked in userspace: "
			"more --max-mappings",
			process->pid, process->mapset->nr);
}

void publisher_publish(struct publisher *publisher, struct process *process)
{
	if (!process->dirty || !process->gen || is_too_soon(process))
		return;
	process->dirty = false;
	process->next_publish_ns = 0;

	/* without mappings every sample sends a snapshot */
	uint32_t nr = process->restless ? 0 : process->mapset->nr;
	int code = publish_run(publisher, process, nr);

	/* what many mappings had before makes room for what they have now, if need be */
	if (code == -ENOSPC && nr >= PACED_MAPPINGS && process->run && process->run->nr &&
	    !publish_run(publisher, process, 0))
		code = publish_run(publisher, process, nr);
	if (code == -ENOSPC) {
		code = claim_share(publisher, process, nr);
		if (!code)
			code = publish_run(publisher, process, nr);
	}
	if (nr >= PACED_MAPPINGS)
		process->next_publish_ns = clock_monotonic_ns() + nr * PACE_NS;
	if (code) {
		process->dirty = true;
		process->next_publish_ns = clock_monotonic_ns() + RETRY_NS;
	}
	if (code)
		say_refused(publisher, process, code);
	if (publisher->retired_entries >= COLLECT_ENTRIES)
		publisher_collect(publisher);
}
