/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's records in order of time: gather the ring records and the side-band records of all
 * CPUs, sort and apply them. Stacks of known frames need no order and go to the store at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "proc/cgroup_names.h"
#include "proc/sideband.h"
#include "profile/comm_filter.h"
#include "profile/heap_live.h"
#include "profile/rss_book.h"
#include "profile/intake.h"
#include "profile/replayer.h"
#include "profile/scripts.h"
#include "profile/snapshot.h"
#include "profile/timeline.h"
#include "profile/tracker.h"
#include "profile/walk_file.h"

struct event;

/* All pointers are borrowed. */
struct collect_config {
	struct tracker *tracker;
	struct replayer *replayer;
	struct intakes *intakes;
	struct scripts *scripts;	   /* NULL: script frames are not walked */
	struct walk_file *walk_file;	   /* NULL: walks are not recorded */
	struct heap_live *heap_live;	   /* told of programs' ends; NULL: not wanted */
	struct rss_book *rss_book;	   /* told of changes of memory; NULL: not wanted */
	struct comm_filter *comm_filter;   /* NULL: every name is wanted */
	struct cgroup_names *cgroup_names; /* NULL: not needed */
	/* Is this process needed? NULL: all are. */
	bool (*is_followed)(void *ctx, uint32_t pid);
	void *ctx;
	size_t bytes_max; /* of records kept with events; beyond it they stay in the ring */
};

/* Least bytes_max of a run. */
#define COLLECT_BYTES_MIN (8u << 20)

struct collect {
	/* struct collect_config */
	struct tracker *tracker;
	struct replayer *replayer;
	struct intakes *intakes;
	struct scripts *scripts;
	struct walk_file *walk_file;
	struct heap_live *heap_live;
	struct rss_book *rss_book;
	struct comm_filter *comm_filter;
	struct cgroup_names *cgroup_names;
	bool (*is_followed)(void *ctx, uint32_t pid);
	void *ctx;
	uint64_t *told;	   /* owned: bit per pid a life record came for, so that it is followed */
	uint64_t *strange; /* owned: bit per pid that was asked for in vain, since its last fork */
	uint64_t *held;	   /* owned: bit per pid that has an event which waits */

	/* Owned [nr]: gathered, not yet applied. The first nr_waiting are due, and wait for an
	 * answer. */
	struct event *events;
	size_t nr, nr_waiting, capacity;
	uint64_t nr_answers;	 /* tracker->nr_answers, when those that wait were tried last */
	bool is_last;		 /* nothing is waited for any longer */
	size_t bytes, bytes_max; /* of records kept with events */
	struct snapshots snapshots;
	uint32_t seq; /* order of gathering, for equal times */

	uint64_t nr_dropped; /* records lost because memory ran out: everything is rescanned */
	uint64_t nr_malformed;
};

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int collect_init(struct collect *collect, const struct collect_config *config);
/* A zeroed struct is allowed. */
void collect_fini(struct collect *collect);

/*
 * Callback of the ring buffer: takes a record in. Returns 0, or -EBUSY when so many are kept
 * already that the next had better stay in the ring.
 */
int collect_ring_record(void *collect, void *data, size_t size);

/* Callback of sideband_drain. */
void collect_sideband_record(const struct sideband_record *record, void *collect);

/*
 * Apply, in order of time, everything up to @horizon_ns. Records younger than that may still be
 * overtaken by older ones of another CPU. What needs something that is being looked up stays, and
 * so do all later events of the same process, and of those it forks: no other process waits for it.
 */
void collect_apply(struct collect *collect, uint64_t horizon_ns);

/* Is there a sample that was taken before @before_ns, and has not been applied? Cost: O(events). */
bool collect_has_samples(const struct collect *collect, uint64_t before_ns);
/* Apply all of them with what is known, in no order with others. Cost: O(events). */
void collect_settle(struct collect *collect, uint64_t before_ns);

/* Set the round of every object that events which stay are about. */
void collect_mark_mapped(const struct collect *collect, uint64_t round);

/* Events that are not due yet: those that wait for an answer are applied when it comes. */
size_t collect_nr_pending(const struct collect *collect);
