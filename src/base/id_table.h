/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the entry of an array that equals a key: a hash table of indexes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Both are looked at together: together they are one line of the cache. */
struct id_slot {
	uint32_t number; /* index + 1, 0 is free */
	uint32_t hash;	 /* of what it names */
};

struct id_table {
	struct id_slot *slots; /* owned [nr_slots] */
	size_t nr_slots;       /* power of two, or 0 */
	size_t nr;
};

#define ID_TABLE_NONE UINT32_MAX

void id_table_fini(struct id_table *table);

/*
 * The index of the entry with @hash for which @equal says yes (@index, @key); ID_TABLE_NONE: there
 * is none. Cost: O(1) for a hash that spreads; the low half of @hash decides the place.
 */
uint32_t id_table_find(const struct id_table *table, uint64_t hash,
		       bool (*equal)(const void *ctx, uint32_t index, const void *key),
		       const void *ctx, const void *key);

/* Note that entry @index has @hash; it is not in the table yet. Errors: -ENOMEM. */
FPL_MUST_CHECK int id_table_add(struct id_table *table, uint64_t hash, uint32_t index);

/* Continue @hash (at first any seed) over @size bytes. */
uint64_t id_table_hash(uint64_t hash, const void *bytes, size_t size);
