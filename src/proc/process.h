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

/* A run of entries of the map `mappings`, shared by a process and its children until they change.
 */
struct run {
	uint32_t refs;
	uint32_t first, nr;
	uint32_t round; /* of the last count that has counted it */
};

struct process {
	uint32_t pid;
	uint64_t gen;		/* of the image, as the kernel side counts it; 0: not yet told */
	uint64_t past_gen;	/* of the image before: a late sample of it is no news */
	uint64_t parent_gen;	/* of the image it was forked from, until exec; 0: none */
	uint64_t start_ns;	/* CLOCK_BOOTTIME; 0: not told */
	struct mapset *mapset;	/* owned reference, never NULL */
	bool complete;		/* mapset was scanned, or followed since exec or fork */
	bool dirty;		/* mapset or gen changed since it was published */
	bool wanted;		/* was sampled, or is a target: worth tables and publication */
	uint32_t version;	/* of the published mapset */
	uint64_t scanned_ns;	/* CLOCK_MONOTONIC before the last scan; 0: never */
	uint64_t next_scan_ns;	/* no rescan before */
	uint64_t scan_pause_ns; /* doubles with each rescan */
	uint32_t nr_lookups;	/* of what it has mapped, that are not answered */
	uint64_t next_raw_ns;	/* CLOCK_MONOTONIC: frames in no object are no news before */

	/* Code was mapped where other code was, at replaced_ns (CLOCK_MONOTONIC): nothing tells the
	 * kernel side of the next time before its samples are walked by the wrong table, so for a
	 * while they are all walked in userspace, in time order. */
	bool restless;
	uint64_t next_publish_ns; /* many mappings are not published again before */
	uint64_t replaced_ns;

	/* main object and interpreter, to flag their mappings; 0: none or not yet */
	uint32_t main_object, interp_object;
	bool in_exec; /* between exec and [vdso]: first object is main, second the interpreter */
	bool exec_pending; /* the side-band told of an exec, the kernel side not yet of its gen */

	struct run *run; /* owned reference: what is published of it; NULL: nothing */

	bool has_owner;
	uint64_t owner; /* process_owner() */

	struct process *next; /* in its bucket */
	/* among those that changed; changed_link NULL: it is not */
	struct process *next_changed, **changed_link;
};

struct processes {
	struct process **buckets; /* owned */
	size_t nr_buckets;	  /* a power of two */
	size_t nr;
	struct process *changed; /* the first of those that were noted */
	/* Called when nobody refers to a run any more, just before it is freed; may be NULL. */
	void (*retire)(void *ctx, const struct run *run);
	void *ctx;
};

FPL_MUST_CHECK int processes_init(struct processes *table,
				  void (*retire)(void *ctx, const struct run *run), void *ctx);
void processes_fini(struct processes *table);
struct process *processes_find(const struct processes *table, uint32_t pid);
/* Find or make; NULL without memory. A new one has an empty, incomplete mapset. */
struct process *processes_get(struct processes *table, uint32_t pid);
void processes_remove(struct processes *table, uint32_t pid);
#define PROCESS_OWNER_UNKNOWN UINT64_MAX

/* The effective user of the process, asked of /proc once for each image; PROCESS_OWNER_UNKNOWN: it
 * had gone by then. */
uint64_t process_owner(struct process *process);

/* Call @fn for each; @fn may not add or remove. */
void processes_each(const struct processes *table, void (*fn)(struct process *, void *), void *ctx);

/* To be called after each change of @process: has processes_each_changed() visit it, if it is
 * wanted and dirty or restless. */
void processes_note(struct processes *table, struct process *process);

/* Call @fn for each that was noted; those that are neither dirty nor restless afterwards are so no
 * more. @fn may not add or remove. Cost: O(those that changed). */
void processes_each_changed(struct processes *table, void (*fn)(struct process *, void *),
			    void *ctx);

/* The process began to run another program: nothing of the old one holds any more. */
FPL_MUST_CHECK int process_exec(struct process *process);

/* @child has just been made, by a fork of @parent: it has the parent's mappings as they are now. */
void process_fork(struct process *child, const struct process *parent);

/* @run (the reference is taken over; may be NULL) is what is published of @process from now on. */
void process_set_run(const struct processes *table, struct process *process, struct run *run);

/*
 * A mapping appeared at @time_ns; @vdso says that it is the vDSO's. Sets its MAIN and INTERP flags.
 * Ignored where a scan later than @time_ns has seen it. Errors: those of mapset_add.
 */
FPL_MUST_CHECK int process_map(struct process *process, const struct fpl_mapping *map, bool vdso,
			       uint64_t time_ns);

/* Is the process no longer restless at @now_ns, having been so? Then its mapset is to be published.
 */
bool process_settles(struct process *process, uint64_t now_ns);

/*
 * The kernel side says that the image at this time is @gen. Returns true if what is known of the
 * mappings holds for it, false if they belong to another image.
 */
bool process_gen(struct process *process, uint64_t gen);

/*
 * Replace the mapset by @set (the reference is taken over), as read from /proc at @time_ns. Only a
 * set that differs from what was known makes the process dirty.
 */
void process_scanned(struct process *process, struct mapset *set, uint64_t time_ns);

/* May the process be scanned (again) now? Each yes doubles the pause to the next, up to 1 s. */
bool process_may_scan(struct process *process, uint64_t now_ns);
