/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tables make room for another: those whose rows were used least recently go first, and one
 * in use goes only for one that is wanted more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/catalog.h"

/*
 * A table that was just placed stays this long: its first samples have not been counted yet, and
 * two that do not fit together must not take turns at the cost of compiling.
 */
#define EVICTION_STAY_NS 1000000000ull

struct eviction {
	const struct catalog *catalog; /* borrowed */
	const struct object *newcomer; /* whose table needs room */
	uint64_t now_ns;	       /* CLOCK_MONOTONIC */
	uint64_t look;	    /* number of the last look at what is used (object->table.used_look) */
	uint64_t round;	    /* number of the last look at what is mapped (object->round) */
	uint64_t spent;	    /* samples of late of the victims so far: grows */
	uint64_t bytes;	    /* that the newcomer's table needs */
	uint64_t max_bytes; /* of all tables */
};

/* Would the newcomer give its owner more than his share (share.h) of the room for tables? */
bool eviction_is_beyond_share(const struct eviction *eviction);

/*
 * The next table to give up, or NULL: all others are worth more than the newcomer. Not lately used
 * before lately used, not mapped before mapped, then the longest unused. One that is lately used
 * and mapped is given up only while the newcomer's missed samples are more than twice those of all
 * victims together.
 *
 * Tables of an owner with more than its share go first, whatever their use; and an owner that has
 * used up its share takes no mapped table of others. Cost: O(objects).
 */
struct object *eviction_next(struct eviction *eviction);
