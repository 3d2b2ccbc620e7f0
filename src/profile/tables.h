/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables from files to the kernel side: asked for by object, compiled in a thread, copied
 * into the pool and published in the map `objects`. When the pool is full, tables of objects that
 * no process maps any more make room; without such tables, the object is refused by name.
 *
 * Where rows from code take a while, the table of the CFI alone is published first
 * (TABLE_PARTIAL). When a sample ends for want of such a row, the whole one is made, which takes
 * its place; where that takes long, one with the rows around such samples comes between. Two images
 * are in the pool then, until no walk can read the first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/catalog.h"
#include "profile/compiler.h"
#include "profile/pool.h"
#include "profile/scripts.h"
#include "profile/share.h"
#include "profile/table_writer.h"

#define TABLES_RETIRED_MAX 64u /* images whose space waits for a grace period they share */

/* How long samples wait for rows from code, and for how many objects they may. */
#define TABLES_WAIT_NS	   500000000ull
#define TABLES_AWAITED_MAX 16u

/* All pointers are borrowed. */
struct tables_config {
	uint64_t max_bytes;
	struct parser *parser;	     /* compiles */
	struct disk_cache *cache;    /* tables are read from it; NULL: no cache */
	struct table_writer *writer; /* stores compiled tables; NULL: not stored */
	bool synth;		     /* rows are made from code without CFI, too */
	const struct catalog *catalog;
	struct fpl_object *slots; /* the map `objects`, mapped */
	struct scripts *scripts;  /* makes rules for interpreters; NULL: none */
	pool_chunk_fn make_chunk;
	void *make_ctx;
	/* Set object->round = @round for every object that a process maps. */
	void (*mark_mapped)(void *ctx, uint64_t round);
	void *mark_ctx;
	/* Note what the walks have used since the last call, as look number @look (table_use.h). */
	void (*look_at_use)(void *ctx, uint64_t look);
	void *use_ctx;
};

struct tables {
	struct tables_config config;
	struct pool pool;
	struct compiler *compiler; /* owned */
	uint64_t round, look;
	uint64_t looked_ns, reviewed_ns;
	struct space_extent retired[TABLES_RETIRED_MAX]; /* of the pool, bytes: may still be read */
	size_t nr_retired;
	struct object *awaited[TABLES_AWAITED_MAX]; /* borrowed: for whose rows samples wait */
	size_t nr_awaited;
	uint32_t nr_waiting; /* objects without room at the last review; UINT32_MAX: some came */
	uint64_t nr_refused, nr_evicted;
	struct share_book given_up; /* both, by owner of the file */
	/* a slot became or ceased to be usable, or tells how made code is walked: processes that
	 * map it say so anew */
	bool changed;
};

FPL_MUST_CHECK int tables_init(struct tables *tables, const struct tables_config *config,
			       struct fpl_err *err);
/* A zeroed struct is allowed. */
void tables_fini(struct tables *tables);

/* Have the table of @object compiled unless that was asked before. */
void tables_want(struct tables *tables, struct object *object);

/* The same of a new object whose table was made with its headers: @table is taken over. */
void tables_want_made(struct tables *tables, struct object *object, struct table *table);

/* A sample needs the table of @object at @vaddr: as tables_want, also where it was evicted; rows
 * that were left for later are made. */
void tables_need(struct tables *tables, struct object *object, uint64_t vaddr);

/*
 * Let no sample wait for rows from the code of @object any more: where a row is missing, walks take
 * a plausible frame-pointer step (FPL_TABLE_LATE). The rows are still made.
 */
void tables_wait_no_more(struct tables *tables, struct object *object);

/*
 * To be called a few times a second: request again the tables that did not fit, if there is room
 * now, or if more samples miss them than use others. Cost: nothing while everything fits; else a
 * reading of the counts of all stacks, once a second.
 */
void tables_review(struct tables *tables);

/* Publish what the compiler has finished, and let go of what samples have waited for too long.
 * Returns how many tables that was: waiting samples may get further. */
size_t tables_collect(struct tables *tables);

/* Sums over the objects whose tables are in the pool. */
void tables_stats(const struct tables *tables, struct profile_tables *ret);

/* Count the objects of @catalog whose tables were asked for, and those among them whose tables are
 * made, or cannot be. Cost: linear in the objects. */
void tables_count(const struct catalog *catalog, size_t *nr_made, size_t *nr);

/* Set object->round of every object that a process maps to a new tables->round. */
void tables_mark_mapped(struct tables *tables);

/* Is no job under way for @object, and does no sample wait for its rows? */
bool tables_may_forget(const struct tables *tables, const struct object *object);
/* Take what is published of @objects [@nr], which tables_may_forget, out of the kernel's maps.
 * Cost: one grace period. */
void tables_forget(struct tables *tables, struct object *const *objects, size_t nr);

/* Wait until no running BPF program can still read what was unpublished before the call. */
void tables_grace(void);
