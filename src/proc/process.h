/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes as userspace knows them: which executable mappings each program image has. Fed in
 * time order with what the side-band, the life records of the kernel side and /proc say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/mapset.h"

struct process {
	uint32_t pid;
	uint64_t gen;		/* of the image, as the kernel side counts it; 0: not yet told */
	uint64_t past_gen;	/* of the image before: a late sample of it is no news */
	uint64_t start_ns;	/* CLOCK_BOOTTIME; 0: not told */
	struct mapset *mapset;	/* owned reference, never NULL */
	bool complete;		/* mapset was scanned, or followed since exec or fork */
	bool dirty;		/* mapset or gen changed since it was published */
	bool wanted;		/* was sampled, or is a target: worth tables and publication */
	uint32_t version;	/* of the published mapset */
	uint64_t scanned_ns;	/* CLOCK_MONOTONIC before the last scan; 0: never */
	uint64_t next_scan_ns;	/* no rescan before */
	uint64_t scan_pause_ns; /* doubles with each rescan */

	/* main object and interpreter, to flag their mappings; 0: none or not yet */
	uint32_t main_object, interp_object;
	bool in_exec; /* between exec and [vdso]: first object is main, second the interpreter */

	/* run of `mappings` that is published; nr 0: none */
	uint32_t run_first, run_nr;
	struct mapset *published; /* owned reference: what the run holds; NULL: nothing */

	struct process *next; /* in its bucket */
};

struct processes {
	struct process **buckets; /* owned */
	size_t nr_buckets;	  /* a power of two */
	size_t nr;
};

FPL_MUST_CHECK int processes_init(struct processes *table);
void processes_fini(struct processes *table);
struct process *processes_find(const struct processes *table, uint32_t pid);
/* Find or make; NULL without memory. A new one has an empty, incomplete mapset. */
struct process *processes_get(struct processes *table, uint32_t pid);
void processes_remove(struct processes *table, uint32_t pid);
/* Call @fn for each; @fn may not add or remove. */
void processes_each(const struct processes *table, void (*fn)(struct process *, void *), void *ctx);

/* The process began to run another program: nothing of the old one holds any more. */
FPL_MUST_CHECK int process_exec(struct process *process);

/* @child has just been forked from @parent: it has the parent's mappings as they are now. */
void process_fork(struct process *child, const struct process *parent);

/*
 * A mapping appeared at @time_ns; @vdso says that it is the vDSO's. Sets its MAIN and INTERP flags.
 * Ignored where a scan later than @time_ns has seen it. Errors: those of mapset_add.
 */
FPL_MUST_CHECK int process_map(struct process *process, const struct fpl_mapping *map, bool vdso,
			       uint64_t time_ns);

/*
 * The kernel side says that the image at this time is @gen. Returns true if what is known of the
 * mappings holds for it, false if they belong to another image.
 */
bool process_gen(struct process *process, uint64_t gen);

/* Replace the mapset by @set (the reference is taken over), as read from /proc at @time_ns. */
void process_scanned(struct process *process, struct mapset *set, uint64_t time_ns);

/* May the process be scanned (again) now? Each yes doubles the pause to the next, up to 1 s. */
bool process_may_scan(struct process *process, uint64_t now_ns);
