/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges that lie in each other, made into a flat list: which one is the innermost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

struct interval {
	uint64_t start, end; /* [start, end) */
	uint32_t value, _pad;
};

struct interval_map {
	VECTOR(struct interval); /* once settled ascending and disjoint */
	uint64_t *starts;	 /* owned [nr], once settled: of list, for searches */
	bool first_wins;	 /* to be set before adding; see interval_map_settle() */
};

void interval_map_fini(struct interval_map *map);

/* Add [start, end), not empty. Errors: -E2BIG more than 2^24; -ENOMEM. */
FPL_MUST_CHECK int interval_map_add(struct interval_map *map, uint64_t start, uint64_t end,
				    uint32_t value);

/*
 * Settle what was added: where several overlap, the one that starts last has the address, of those
 * that start together the one added last, or first with first_wins. So inner ones are to be added
 * behind their outer ones. Errors: -ENOMEM. Cost: O(n).
 */
FPL_MUST_CHECK int interval_map_settle(struct interval_map *map);

/* The value that has @addr, of a settled map. Cost: O(log n). */
bool interval_map_find(const struct interval_map *map, uint64_t addr, uint32_t *ret);
