/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what is known of the processes in step with the kernel: side-band and life records are
 * applied in time order, /proc is read where they leave a gap, and every change is published.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "proc/process.h"
#include "proc/sideband.h"
#include "profile/catalog.h"
#include "profile/publisher.h"
#include "profile/run_time.h"
#include "profile/tables.h"

struct code_names;
struct code_orders;
struct lookup;
struct lookups;

/* The exec of a process that the kernel side told of late. */
struct told_exec {
	uint64_t time_ns, cgroup;
	uint32_t pid, euid; /* pid 0: none */
};

#define TRACKER_EXECS 64u /* that are kept, by pid modulo that */

struct tracker {
	struct processes processes;
	struct told_exec execs[TRACKER_EXECS];
	struct catalog *catalog;       /* borrowed */
	struct code_names *code_names; /* borrowed; NULL: no names are wanted */
	/* struct tracker_links; zeroed before tracker_begin(). */
	struct tables *tables;
	struct publisher *publisher;
	struct lookups *lookups;
	struct run_times run_times;
	size_t nr_waiting;	   /* processes that are being looked up */
	uint64_t nr_answers;	   /* that were taken so far */
	struct code_orders *codes; /* owned: the last answer of lookups_codes(); NULL: none */
	uint64_t codes_after;	   /* the window that it is of, and 1; 0: none has come */
	bool has_vdso;		   /* the vDSO was looked up; vdso NULL: the kernel maps none */
	struct object *vdso;	   /* borrowed */
	uint64_t (*kernel_gen)(void *ctx, uint32_t pid);
	void *ctx;
	bool rescan_all;	/* records were lost */
	uint64_t nr_lost;	/* side-band records */
	uint64_t nr_lives_lost; /* life records */
	uint64_t nr_scans;
	uint64_t flushed_ns; /* CLOCK_MONOTONIC: the last tracker_flush */
	uint64_t drained_ns; /* CLOCK_MONOTONIC, set by the caller: records come that are older */
};

/* Processes may be adopted from here on. @catalog, @code_names: borrowed; @code_names NULL: no
 * names are wanted. Errors: -ENOMEM. */
FPL_MUST_CHECK int tracker_init(struct tracker *tracker, struct catalog *catalog,
				struct code_names *code_names);
/* A zeroed struct is allowed. */
void tracker_fini(struct tracker *tracker);

/* Peers of the tracker in a run. All pointers are borrowed. */
struct tracker_links {
	struct tables *tables;	     /* NULL: none are compiled */
	struct publisher *publisher; /* made of tracker->processes */
	/* The thread for lookups that take time. NULL: the caller looks up at once. */
	struct lookups *lookups;
	struct regions *regions;       /* NULL: code made at run time has no methods */
	const struct scripts *scripts; /* NULL: script frames are not walked */
	/* The gen the kernel side has for @pid now, 0 if none. */
	uint64_t (*kernel_gen)(void *ctx, uint32_t pid);
	void *ctx;
};

/* From here on records and samples are taken. Have the tables of all wanted processes compiled, and
 * those of later ones as they come. */
void tracker_begin(struct tracker *tracker, const struct tracker_links *links);

/* The lookups have ended: from here on the caller looks up, at once. */
void tracker_end_lookups(struct tracker *tracker);

/* A mapping record whose file is looked up at once, while the process lives. */
struct tracked_map {
	struct fpl_mapping mapping;
	uint64_t file_off;
	bool vdso;
	struct lookup *lookup; /* owned once it is done; NULL: the mapping is known */
	bool has_owner;	       /* the lookup was asked for at once, and whose process it is */
	uint64_t owner;
};

/* Note a life record when it comes, before its turn. */
void tracker_told(struct tracker *tracker, const struct fpl_life *life);
/* Look up the object behind a SIDEBAND_MAP record, or begin to. */
void tracker_resolve(struct tracker *tracker, const struct sideband_record *record,
		     struct tracked_map *ret);
/* Is it known by now what @map is? With @is_last it is not waited for any longer. */
bool tracker_settle(struct tracked_map *map, bool is_last);

/* Lookups made for an event so far. Zeroed: none. */
struct tracker_try {
	bool has_scanned, has_rescanned;
	bool is_last; /* set by the caller: begin nothing more */
	bool waits;   /* something is being looked up: come again when answers were taken */
};

/* Take the answers that have come. */
void tracker_take_answers(struct tracker *tracker);
/* Has the answer about the code of window @number come? */
bool tracker_has_codes(const struct tracker *tracker, uint64_t number);
/* Hand it over; NULL: it has not. */
struct code_orders *tracker_take_codes(struct tracker *tracker, uint64_t number);
/* Is process @pid being looked up? Its events wait, so that they stay in order. */
bool tracker_is_waiting(const struct tracker *tracker, uint32_t pid);

/* Have the table of object @id (0: none) compiled. */
void tracker_want(struct tracker *tracker, uint32_t id);

/* Apply a record; @map belongs to a SIDEBAND_MAP, and is settled. In time order. */
void tracker_sideband(struct tracker *tracker, const struct sideband_record *record,
		      const struct tracked_map *map);

/* Apply a life record. In time order with the others. */
void tracker_life(struct tracker *tracker, const struct fpl_life *life);

/*
 * The process a sample (at its place in time) was taken in, with the mappings of its image; NULL
 * where they cannot be had: it ran another program already, or is gone. If the process is not known
 * it is looked up: try->waits then. The process is published soon and its tables are compiled.
 */
struct process *tracker_sample(struct tracker *tracker, const struct fpl_sample *sample,
			       struct tracker_try *try);

/* A sample of @process met an address in no mapping: look the process up again, if it is not too
 * soon for that. Returns true if mappings came to light; or try->waits. */
bool tracker_rescan(struct tracker *tracker, struct process *process, uint32_t tid,
		    struct tracker_try *try);

/* The user frames @frames [@nr] of a stack of @process, image @gen, have one that stays raw: its
 * code is in no object. @process may be NULL. */
void tracker_raw(struct tracker *tracker, struct process *process, uint64_t gen,
		 const uint64_t *frames, size_t nr);

/*
 * Begin to follow a process that runs already; @wanted: with tables, for it is a target. Errors:
 * -ESRCH it does not exist; -ENODATA it has no memory (a kernel thread); else as proc_maps_read.
 */
FPL_MUST_CHECK int tracker_adopt(struct tracker *tracker, uint32_t pid, bool wanted,
				 struct fpl_err *err);

/*
 * Read the mappings of every process there is, so that those which end or fork before their first
 * sample was looked at are known; of those that are running also the tables are wanted.
 * Cost: about 0.5 ms per process.
 */
void tracker_adopt_all(struct tracker *tracker);

/* Publish what changed since the last call; look everything up again if records were lost. */
void tracker_flush(struct tracker *tracker);

/* Has a process to be asked again soon, by tracker_flush(), also if no record comes? Cost:
 * O(processes that have changed). */
bool tracker_asks_again(const struct tracker *tracker);

/* Set the round of every object that @set maps. */
void tracker_mark_mapset(const struct tracker *tracker, const struct mapset *set, uint64_t round);

/* Set the round of every object that is mapped: for tables.mark_mapped. */
void tracker_mark_mapped(void *tracker, uint64_t round);
