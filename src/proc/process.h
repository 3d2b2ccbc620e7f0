/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes known to userspace: the executable mappings of each program image. Fed in time
 * order by the side-band, the life records of the kernel side and /proc.
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

/* Memory with code made at run time, and its reference (bpf/shared_region.h). */
struct process_region {
	uint64_t start, end, ref;
};
#define PROCESS_REGIONS_MAX 64u

/* Was the run time of the process asked how its code is walked: a JVM, PHP, or a trampoline? */
enum process_maker {
	PROCESS_MAKER_UNKNOWN, /* it has none, or one that has not begun yet */
	PROCESS_MAKER_ASKED,
	PROCESS_MAKER_KNOWN,
	PROCESS_MAKER_REFUSED,
};

struct process {
	uint32_t pid;
	uint64_t gen;		/* of the image, as the kernel side counts it; 0: not yet told */
	uint64_t past_gen;	/* of the previous image: a late sample of it is no news */
	uint64_t parent_gen;	/* of the image it was forked from, until exec; 0: none */
	uint64_t start_ns;	/* CLOCK_BOOTTIME; 0: not told */
	struct mapset *mapset;	/* owned reference, never NULL */
	bool complete;		/* mapset was scanned, or followed since exec or fork */
	bool dirty;		/* mapset or gen changed since it was published */
	bool wanted;		/* sampled, or a target: gets tables and is published */
	uint32_t version;	/* of the published mapset */
	uint64_t scanned_ns;	/* CLOCK_MONOTONIC before the last scan; 0: never */
	uint64_t next_scan_ns;	/* no rescan before */
	uint64_t scan_pause_ns; /* doubles with each rescan */
	uint32_t nr_lookups;	/* of what it has mapped, that are not answered */
	bool has_raw;		/* a sample of this pid had a frame in no object */
	uint64_t next_raw_ns;	/* CLOCK_MONOTONIC: the next such frame is not told before */

	/* Code was mapped in place of other code, at replaced_ns (CLOCK_MONOTONIC). The kernel side
	 * learns of the next time too late, when samples have been walked by the wrong table, so
	 * for a while all samples are walked in userspace, in time order. */
	bool restless;
	uint64_t next_publish_ns; /* many mappings are not published again before */
	uint64_t replaced_ns;

	/* main object and interpreter, to flag their mappings; 0: unknown */
	uint32_t main_object, interp_object;
	bool in_exec; /* between exec and [vdso]: first object is main, second the interpreter */
	bool exec_pending; /* the side-band reported an exec, the kernel side has not reported its
			      gen yet */

	/* of this image: a child has none, though its mappings have their references */
	struct process_region *regions; /* owned, with room for PROCESS_REGIONS_MAX; NULL: none */
	uint32_t nr_regions;
	enum process_maker maker;
	/* of its libjvm or Erlang, or of what registers code for debuggers: they know names; 0: not
	 * known */
	uint64_t names_base;
	bool registers;		/* it is the last: it is asked again when code is mapped, */
	bool asks_again;	/* and a moment later: to be done when it may be asked */
	uint32_t nr_no_list;	/* objects that were asked for such a list, and had none */
	uint64_t made_ns;	/* CLOCK_MONOTONIC: code without object was mapped last */
	uint64_t asked_made_ns; /* made_ns as of the last question */
	uint64_t asked_ns;	/* CLOCK_MONOTONIC: of the last question */
	uint64_t rest_ns;	/* CLOCK_MONOTONIC: no question before, whatever was mapped */
	uint64_t next_ask_ns;	/* CLOCK_MONOTONIC: not asked again before */
	uint64_t ask_pause_ns;	/* half as much more with each question */

	struct run *run;       /* owned reference: its published mappings; NULL: not published */
	uint64_t published_ns; /* CLOCK_MONOTONIC when the kernel side had them; 0: never */

	bool has_owner;
	uint64_t owner; /* process_owner() */

	struct process *next; /* in its bucket */
	/* in the list of changed ones; changed_link NULL: not in it */
	struct process *next_changed, **changed_link;
};

struct processes {
	struct process **buckets; /* owned */
	size_t nr_buckets;	  /* a power of two */
	size_t nr;
	struct process *changed; /* the first of those that were noted */
	/* Called when a run has no references left, just before it is freed; may be NULL. */
	void (*retire)(void *ctx, const struct run *run);
	void *ctx;
};

FPL_MUST_CHECK int processes_init(struct processes *table,
				  void (*retire)(void *ctx, const struct run *run), void *ctx);
void processes_fini(struct processes *table);
struct process *processes_find(const struct processes *table, uint32_t pid);
/* Find or make; NULL: out of memory. A new one has an empty, incomplete mapset. */
struct process *processes_get(struct processes *table, uint32_t pid);
void processes_remove(struct processes *table, uint32_t pid);

/* owner_of_process(), asked once for each image. */
uint64_t process_owner(struct process *process);
/* The same was asked while the image ran: @owner. */
void process_tell_owner(struct process *process, uint64_t owner);

/* Call @fn for each process; @fn may not add or remove any. */
void processes_each(const struct processes *table, void (*fn)(struct process *, void *), void *ctx);

/* To be called after each change of @process: puts it on the list of processes_each_changed(), if
 * it is wanted and dirty or restless, or asks again. */
void processes_note(struct processes *table, struct process *process);

/* Call @fn for each process on the list; those for which there is no such reason afterwards leave
 * it. @fn may not add or remove any. Cost: O(length of the list). */
void processes_each_changed(struct processes *table, void (*fn)(struct process *, void *),
			    void *ctx);

/* The process began to run another program: facts about the old one are void. */
FPL_MUST_CHECK int process_exec(struct process *process);

/*
 * @child was made at @time_ns (CLOCK_MONOTONIC) by a fork of @parent: copy the parent's mappings of
 * this moment. The kernel side copies the mapset of the parent at the fork, so the child is dirty
 * only if the parent is, or was published later.
 */
void process_fork(struct process *child, const struct process *parent, uint64_t time_ns);

/* Set the published mappings of @process to @run (the reference is taken over; may be NULL). */
void process_set_run(const struct processes *table, struct process *process, struct run *run);

/*
 * Add a mapping that appeared at @time_ns; @vdso: it is the vDSO's. Sets its MAIN and INTERP flags.
 * Ignored if a scan later than @time_ns has seen it. Errors: those of mapset_add.
 */
FPL_MUST_CHECK int process_map(struct process *process, const struct fpl_mapping *map, bool vdso,
			       uint64_t time_ns);

/* @process has code made at run time in [@start, @end), whose region is @ref, behind those that it
 * has: of two with one pc the first counts. Errors: -ENOMEM; -ENOSPC it has PROCESS_REGIONS_MAX. */
FPL_MUST_CHECK int process_add_region(struct process *process, uint64_t start, uint64_t end,
				      uint64_t ref);

/* The mappings without object that lie in the process's regions have these as their bias. Without
 * memory some have none. Cost: O(mappings) for each region that is not in place. */
void process_place_regions(struct process *process);

/* Has the process ceased to be restless at @now_ns? Then publish its mapset. */
bool process_settles(struct process *process, uint64_t now_ns);

/*
 * The kernel side reports the image @gen. Returns true if the known mappings belong to it, false if
 * they belong to another image.
 */
bool process_gen(struct process *process, uint64_t gen);

/*
 * Replace the mapset by @set (the reference is taken over), as read from /proc at @time_ns. Only a
 * different set makes the process dirty.
 */
void process_scanned(struct process *process, struct mapset *set, uint64_t time_ns);

/* May the process be scanned (again) now? Each yes doubles the pause to the next, up to 1 s. */
bool process_may_scan(struct process *process, uint64_t now_ns);
