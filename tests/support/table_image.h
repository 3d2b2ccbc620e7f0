/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables made of a pattern instead of CFI: for tests of what only carries them, and of what checks
 * them before.
 */
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

#define TABLE_OF_ROWS_PAGE	64u   /* offset of the page of table_of_rows() */
#define TABLE_OF_ROWS_BYTES_MIN 1024u /* of an image that it fits */

/*
 * The same, and lookups may rely on it: both pages are one of a single row, by rule 1. The pattern
 * stays where nothing of that lies. @image_bytes does not end just behind the beginning of a chunk,
 * which the rules would cross.
 */
static inline struct table *table_of_rows(uint32_t image_bytes, uint32_t seed)
{
	const uint32_t rules_bytes = FPL_RULE_REACH + 2 * sizeof(struct fpl_rule);
	struct table *table = table_of_pattern(image_bytes, seed);
	uint32_t rules_off = (image_bytes - rules_bytes) & ~15u;
	uint8_t *last = table->chunks[table->nr_chunks - 1];

	if (image_bytes < TABLE_OF_ROWS_BYTES_MIN ||
	    rules_off / FPL_CHUNK_SIZE != (image_bytes - 1) / FPL_CHUNK_SIZE)
		abort();
	table->rules_off = rules_off;

	struct fpl_page *dir = (void *)(table->chunks[0] + table->dir_off);
	uint16_t *page = (void *)(table->chunks[0] + TABLE_OF_ROWS_PAGE);
	struct fpl_rule *rules = (void *)(last + rules_off % FPL_CHUNK_SIZE);

	for (uint32_t i = 0; i < table->nr_pages; i++)
		dir[i] = (struct fpl_page){ .off = TABLE_OF_ROWS_PAGE, .nr_dict = 1 };
	memset(page, 0, FPL_PAGE_FIRST_BYTES);
	for (uint32_t span = 1; span <= FPL_NR_SPANS; span++)
		page[span] = 1;	    /* row 0 is of span 0, and the last */
	page[FPL_NR_SPANS + 2] = 1; /* dict[0]: the rule */
	page[FPL_NR_SPANS + 3] = 0; /* row 0: from pc 0 on, dict[0] */
	memset(rules, 0, image_bytes - rules_off);
	rules[1] = (struct fpl_rule){ .cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 8 };
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
		if (memcmp(a->chunks[i], b->chunks[i], table_chunk_bytes(a, i)))
			return 0;
	return 1;
}
