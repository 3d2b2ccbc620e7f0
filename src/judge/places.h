/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places to wait for a thread: first instructions of functions without CFI. A thread has a few
 * breakpoints; they are dealt out so that all places have their turn, and those known to be called
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
	uint32_t *hits; /* owned [nr_hits]: indexes in list of the places hit, each once */
	size_t nr_hits, room_hits;
	uint64_t seed;
};

void places_fini(struct places *places);

/*
 * Add the functions of @object that its @table shows: a function begins where code with rows made
 * from it follows code without such rows. Breakpoints do not change code, so a wrong place only
 * costs time. Errors: -ENOMEM. Cost: one lookup per 256 bytes of code, and per row.
 */
FPL_MUST_CHECK int places_add(struct places *places, uint32_t object, const struct table *table);

/* Choose up to @nr different places to wait at; their indexes go to @ret. Returns their number. */
size_t places_choose(struct places *places, uint32_t *ret, size_t nr);

/* Note that a thread hit place @idx. No effect without memory. */
void places_hit(struct places *places, uint32_t idx);
