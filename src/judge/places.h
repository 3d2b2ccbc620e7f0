/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to wait for a thread: first instructions of functions without CFI. A thread has breakpoints
 * for a few; they are dealt out so that all have their turn, and those that are known to be called
 * more often. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "unwind/table.h"

#define PLACES_MAX 131072u /* of all files together */

struct place {
	uint32_t object;
	uint64_t vaddr;
};

struct places {
	struct place *list; /* owned [nr] */
	size_t nr, room;
	size_t next;	/* whose turn it is */
	uint32_t *hits; /* owned [nr_hits]: indexes in list of those that were met, each once */
	size_t nr_hits, room_hits;
	uint64_t seed;
};

void places_fini(struct places *places);

/*
 * Take in the functions of @object that are seen in its @table: where code with rows made from it
 * begins behind code without such a row, as a function does. Breakpoints do not change code, so one
 * at a wrong place costs time and nothing else. Errors: -ENOMEM. Cost: one lookup per 256 bytes of
 * code, and per row.
 */
FPL_MUST_CHECK int places_add(struct places *places, uint32_t object, const struct table *table);

/* Choose up to @nr places to wait at: indexes, different ones, to @ret. Returns how many. */
size_t places_choose(struct places *places, uint32_t *ret, size_t nr);

/* A thread came by place @idx. Without memory nothing happens. */
void places_hit(struct places *places, uint32_t idx);
