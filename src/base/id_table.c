/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"

enum { FIRST_SLOTS = 256 };

void id_table_fini(struct id_table *table)
{
	free(table->slots);
	*table = (struct id_table){ 0 };
}

uint32_t id_table_find(const struct id_table *table, uint64_t hash,
		       bool (*equal)(const void *ctx, uint32_t index, const void *key),
		       const void *ctx, const void *key)
{
	return ID_TABLE_FIND(table, hash, i, equal(ctx, i, key));
}

static void put(struct id_table *table, uint32_t hash, uint32_t number)
{
	size_t mask = table->nr_slots - 1, slot = hash & mask;

	while (table->slots[slot].number)
		slot = (slot + 1) & mask;
	table->slots[slot] = (struct id_slot){ number, hash };
}

static int grow(struct id_table *table)
{
	struct id_table bigger = {
		.nr_slots = table->nr_slots ? 2 * table->nr_slots : FIRST_SLOTS,
		.nr = table->nr,
	};

	/* a 32-bit hash tells no more places apart */
	if (bigger.nr_slots > (size_t)1 << 32)
		return -ENOMEM;
	bigger.slots = large_calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->nr_slots; i++)
		if (table->slots[i].number)
			put(&bigger, table->slots[i].hash, table->slots[i].number);
	id_table_fini(table);
	*table = bigger;
	return 0;
}

int id_table_add(struct id_table *table, uint64_t hash, uint32_t index)
{
	if (index == ID_TABLE_NONE)
		return -ENOMEM;
	if (2 * (table->nr + 1) > table->nr_slots && grow(table))
		return -ENOMEM;
	put(table, (uint32_t)hash, index + 1);
	table->nr++;
	return 0;
}

uint64_t id_table_hash(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	word = size;
	if (size) /* of nothing @bytes may be NULL */
		memcpy(&word, at, size);
	hash = (hash ^ word ^ (uint64_t)size << 56) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

uint32_t *must_id_map(size_t nr)
{
	uint32_t *map = must_reallocarray(NULL, nr, sizeof(*map));

	_Static_assert(ID_TABLE_NONE == UINT32_MAX, "all bytes 0xff");
	return memset(map, 0xff, nr * sizeof(*map));
}
