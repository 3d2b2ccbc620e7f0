/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turn snapshots into stacks: the kernel's walker runs over each copy of a stack, as soon as its
 * tables are there. Snapshots without their table wait here, within a budget.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/intake.h"
#include "profile/scripts.h"
#include "profile/share.h"
#include "profile/sleeper_memory.h"
#include "profile/snapshot.h"
#include "profile/tracker.h"
#include "unwind/replay.h"

/* Least waiting_max of a run: 0.5 s at 999 Hz and 32 KiB. */
#define REPLAYER_WAITING_MIN (16u << 20)

struct waiting;

/* All pointers are borrowed. */
struct replayer_config {
	struct tracker *tracker;
	const struct fpl_object *objects; /* [nr_objects]: the map `objects` */
	size_t nr_objects;
	const struct fpl_region *regions; /* borrowed: the map; NULL: none */
	const struct pool *pool;
	struct intakes *intakes;
	struct scripts *scripts;	/* NULL: script frames are not walked */
	uint32_t max_depth, root_depth; /* of replay_input */
	uint8_t unwind;			/* enum fpl_unwind */
	size_t waiting_max;		/* bytes of snapshots that wait */
	uint64_t reads_max; /* pages of sleeping threads that are read in one visit of them all */
};

struct replayer {
	struct replayer_config config;
	struct waiting *first, **last;	    /* owned: in order of arrival */
	const struct mapset *last_set;	    /* of the one that came last: for comparing only */
	const struct snapshot *last_shared; /* of that one, likewise */
	size_t waiting_bytes;
	struct share_book waiting_of; /* the bytes, by owner */
	struct share_book refused;    /* snapshots that found no room, by owner */
	uint64_t nr_beyond_share;     /* snapshots of owners whose share was used up */
	uint64_t nr_overflows;	      /* snapshots that found the budget used up */
	struct replay_result result;  /* of the walk at hand: 34 KiB */
	struct sleeper_memory memory; /* of the thread at hand */
	bool has_memory;	      /* the result is of a thread that slept until it was there */
	struct share_book reads;      /* of such memory in the visit at hand, by owner, */
	uint64_t nr_reads;	      /* of all owners */
	uint64_t visit_ns;	      /* when that was */
};

void replayer_init(struct replayer *replayer, const struct replayer_config *config);
/* A zeroed struct is allowed. */
void replayer_fini(struct replayer *replayer);

/*
 * Take in a snapshot at its place in time. The reference is taken over, unless try->waits: it is to
 * be added again when answers were taken.
 */
void replayer_add(struct replayer *replayer, struct snapshot *snapshot, struct tracker_try *try);

/* Walk those again that waited for a table that has come. */
void replayer_retry(struct replayer *replayer);

/* Does a snapshot wait that was taken before @before_ns? Cost: O(waiting). */
bool replayer_has_samples(const struct replayer *replayer, uint64_t before_ns);
/* Walk all of them with what there is. */
void replayer_settle(struct replayer *replayer, uint64_t before_ns);

/* Set the round of every object that is mapped where a snapshot waits. */
void replayer_mark_mapped(struct replayer *replayer, uint64_t round);

/* Walk all that wait with what there is. */
void replayer_finish(struct replayer *replayer);
