/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that nothing needs any more are retired: their slot, table and descriptor are given back.
 * An object is not needed if no process maps it, no waiting snapshot has it and no job reads it. If
 * stacks of the profile name it, names for all of its addresses are read first, since the file may
 * not be found again; its id, its path and these names stay. The objects idle for the longest go
 * first; a few stay, for programs that are run again and again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/catalog.h"
#include "profile/engine.h"
#include "profile/replayer.h"
#include "profile/stack_store.h"
#include "profile/tables.h"
#include "profile/tracker.h"

/* Idle objects that stay, where there is room: about what a build or a shell script runs. */
#define RETIREMENT_KEEP 512u
/* An object must have been idle for that long: samples of it may still be on their way. */
#define RETIREMENT_IDLE_NS 200000000ull

/* All pointers are borrowed. */
struct retirement_config {
	struct catalog *catalog;
	struct tables *tables;
	struct replayer *replayer;
	const struct collect *collect; /* NULL: no event is kept */
	const struct tracker *tracker; /* its lookups, if there are any, have the finder */
	const struct intakes *intakes;
	const struct engine_namer *namer; /* NULL: what stacks of an
					      open window name stays */
	/* Before objects go, false: they cannot now; and of each that goes. */
	bool (*before)(void *ctx);
	void (*after)(void *ctx, const struct object *object);
	void *ctx;
};

/* Zeroed but for its config: nothing was looked at yet. */
struct retirement {
	struct retirement_config config;
	uint32_t nr_expected; /* stacks of whose frames the namer was told */
	uint64_t looked_ns;
	size_t nr_kept; /* live objects after the last look */
	bool has_young; /* some of them had not been idle for long enough */
};

/*
 * To be called whenever what came has been applied. Looks where many objects are new since the last
 * look, or have become idle, at most once a second; where three quarters of the room, or of what
 * one user may have of it, are used, ten times a second. Cost of a look: O(mappings of all
 * processes).
 */
void retirement_review(struct retirement *retirement, uint64_t now);
