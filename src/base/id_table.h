/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the entry of an array that equals a key: the hash table of the project, of indexes. Tables
 * of another kind say why they are.
 *
 *	uint32_t at = ID_TABLE_FIND(&table, hash, i, list[i].key == key);
 *
 *	if (at == ID_TABLE_NONE) {
 *		at = (uint32_t)nr;
 *		must_id_table_add(&table, hash, at);
 *		list[nr++] = (struct entry){ .key = key };
 *	}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
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

/* Look at the slots of @hash from *slot on, at first the hash itself: the next index whose hash is
 * like @hash; ID_TABLE_NONE: no index is left. For ID_TABLE_FIND. */
static inline uint32_t id_table_next(const struct id_table *table, uint64_t hash, size_t *slot)
{
	size_t mask = table->nr_slots - 1;

	if (!table->nr_slots)
		return ID_TABLE_NONE;
	for (;;) {
		const struct id_slot *at = &table->slots[*slot & mask];

		*slot = (*slot & mask) + 1;
		if (!at->number || at->hash == (uint32_t)hash)
			return at->number - 1; /* of a free one that is ID_TABLE_NONE */
	}
}

/*
 * The index with @hash for which the expression @equal holds, in which @index is its name
 * (uint32_t); ID_TABLE_NONE: no such index. Cost: O(1) for a hash that spreads; the low half of
 * @hash decides the place.
 */
#define ID_TABLE_FIND(table, hash, index, equal)                                           \
	({                                                                                 \
		const struct id_table *table_of_find = (table);                            \
		uint64_t hash_of_find = (hash);                                            \
		size_t slot_of_find = hash_of_find;                                        \
		uint32_t index;                                                            \
                                                                                           \
		do {                                                                       \
			index = id_table_next(table_of_find, hash_of_find, &slot_of_find); \
		} while (index != ID_TABLE_NONE && !(equal));                              \
		index;                                                                     \
	})

/* The same by a function: @equal (@index, @key) is asked. */
uint32_t id_table_find(const struct id_table *table, uint64_t hash,
		       bool (*equal)(const void *ctx, uint32_t index, const void *key),
		       const void *ctx, const void *key);

/* Note that entry @index has @hash; it is not in the table yet. Errors: -ENOMEM. */
FPL_MUST_CHECK int id_table_add(struct id_table *table, uint64_t hash, uint32_t index);
#define must_id_table_add(table, hash, index) alloc_check(id_table_add(table, hash, index))

/* A map of @nr indexes to others, of which each is ID_TABLE_NONE; the caller frees it. */
uint32_t *must_id_map(size_t nr);

/* Memory it takes. */
static inline size_t id_table_bytes(const struct id_table *table)
{
	return table->nr_slots * sizeof(*table->slots);
}

/* Continue @hash (at first any seed) over @size bytes. */
uint64_t id_table_hash(uint64_t hash, const void *bytes, size_t size);
