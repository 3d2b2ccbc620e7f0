/* SPDX-License-Identifier: Apache-2.0 */
/* Tables made of a pattern instead of CFI: for tests of what only carries them. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"

/* A table of @image_bytes that differ for each @seed. Ended with table_destroy. */
static inline struct table *table_of_pattern(uint32_t image_bytes, uint32_t seed)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		abort();
	*table = (struct table){
		.image_bytes = image_bytes,
		.rules_off = 64,
		.dir_off = 8,
		.nr_pages = 2,
		.first_vaddr = 0x10000ull * seed,
		.entry_vaddr = 0x1040,
		.stats = { .rows = seed, .rules = 3, .image_bytes = image_bytes },
	};
	if (table_make_room(table))
		abort();
	for (uint32_t i = 0; i < image_bytes; i++) {
		seed = seed * 1664525u + 1013904223u;
		table->chunks[i / FPL_CHUNK_SIZE][i % FPL_CHUNK_SIZE] = (uint8_t)(seed >> 24);
	}
	return table;
}

static inline int table_same(const struct table *a, const struct table *b)
{
	if (a->image_bytes != b->image_bytes || a->nr_chunks != b->nr_chunks ||
	    a->rules_off != b->rules_off || a->dir_off != b->dir_off ||
	    a->nr_pages != b->nr_pages || a->first_vaddr != b->first_vaddr ||
	    a->entry_vaddr != b->entry_vaddr || memcmp(&a->stats, &b->stats, sizeof(a->stats)))
		return 0;
	for (size_t i = 0; i < a->nr_chunks; i++)
		if (memcmp(a->chunks[i], b->chunks[i],
			   a->in_heap ? a->image_bytes : FPL_CHUNK_SIZE))
			return 0;
	return 1;
}
