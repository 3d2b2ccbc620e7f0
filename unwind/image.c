/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_ALIGN = 8 };

/* Offset 0 of an image means "no page", so the first page begins behind it. */
enum { IMAGE_FIRST_OFF = 8 };

static int add_chunk(struct image *image, struct fpl_err *err)
{
	struct table *table = image->table;
	size_t room = table->nr_chunks;
	int code = budget_memory(image->budget, FPL_CHUNK_SIZE, err);

	if (!code)
		code = budget_reserve(image->budget, &table->chunks, &room, room + 1,
				      sizeof(*table->chunks), err);
	if (code)
		return code;
	table->chunks[table->nr_chunks] = malloc(FPL_CHUNK_SIZE);
	if (!table->chunks[table->nr_chunks])
		return fpl_fail(err, -ENOMEM, "%s: out of memory", image->budget->name);
	if (table->nr_chunks++ == 0)
		memset(table->chunks[0], 0, IMAGE_FIRST_OFF);
	return 0;
}

/* Clear what lies between two parts of the image: it is a part of it, too. */
static void clear_gap(struct table *table, uint32_t off, uint32_t end)
{
	while (off < end) {
		uint32_t from = off & (FPL_CHUNK_SIZE - 1);
		uint32_t size =
			end - off < FPL_CHUNK_SIZE - from ? end - off : FPL_CHUNK_SIZE - from;

		memset(table->chunks[off >> FPL_CHUNK_LOG2] + from, 0, size);
		off += size;
	}
}

/* Allocate @size bytes, at most a chunk, that do not cross chunks. They are not cleared. */
static int take(struct image *image, uint32_t size, uint32_t align, uint32_t *ret_off,
		uint8_t **ret, struct fpl_err *err)
{
	struct table *table = image->table;
	uint32_t off = (table->image_bytes + align - 1) & ~(align - 1);

	if ((off & (FPL_CHUNK_SIZE - 1)) + size > FPL_CHUNK_SIZE)
		off = (off + FPL_CHUNK_SIZE - 1) & ~(FPL_CHUNK_SIZE - 1);
	if (off >> FPL_CHUNK_LOG2 >= table->nr_chunks) {
		int code = add_chunk(image, err);

		if (code)
			return code;
	}
	clear_gap(table, table->image_bytes, off);
	table->image_bytes = off + size;
	*ret_off = off;
	*ret = table->chunks[off >> FPL_CHUNK_LOG2] + (off & (FPL_CHUNK_SIZE - 1));
	return 0;
}

int image_init(struct image *image, struct table *table, uint64_t first, uint64_t end,
	       struct budget *budget, struct fpl_err *err)
{
	uint64_t first_page = first >> FPL_PAGE_LOG2;
	uint64_t nr_pages = ((end - 1) >> FPL_PAGE_LOG2) - first_page + 1;

	*image = (struct image){ .table = table, .budget = budget, .page_idx = UINT32_MAX };
	table->first_vaddr = first_page << FPL_PAGE_LOG2;
	table->nr_pages = (uint32_t)nr_pages;
	table->image_bytes = IMAGE_FIRST_OFF;
	table->in_heap = true;

	int code =
		budget_memory(budget, nr_pages * sizeof(*image->dir) + sizeof(*image->page), err);

	if (code)
		return code;
	image->dir = calloc(nr_pages, sizeof(*image->dir));
	image->page = malloc(sizeof(*image->page));
	if (!image->dir || !image->page)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);
	memset(image->page->local, 0, sizeof(image->page->local));
	image->page->vaddr = UINT64_MAX;
	image->page->stamp = IMAGE_WIDE;
	image->page->nr = image->page->nr_dict = 0;
	return 0;
}

void image_fini(struct image *image)
{
	free(image->dir);
	free(image->page);
}

/* Rewrite the rows with slots in place of local ids: the page has more rules than local ids. */
static void page_widen(struct image_page *page)
{
	for (uint32_t i = 0; i < page->nr; i++)
		page->wide[i] = (page->narrow[i] & 0xffu) |
				(uint32_t)page->dict[page->narrow[i] >> 8] << 16;
	page->stamp = IMAGE_WIDE;
	page->nr_dict = 0;
}

/* Add a row to a page of any kind, for a rule new to it or not. */
static void page_add(struct image_page *page, uint32_t low, uint32_t slot)
{
	if (page->stamp != IMAGE_WIDE && page->local[slot] >> IMAGE_LOCAL_BITS != page->stamp) {
		if (page->nr_dict == IMAGE_DICT_MAX) {
			page_widen(page);
		} else {
			page->local[slot] = page->stamp << IMAGE_LOCAL_BITS | page->nr_dict;
			page->dict[page->nr_dict++] = (uint16_t)slot;
		}
	}
	if (page->stamp == IMAGE_WIDE)
		page->wide[page->nr] = (low & 0xff) | slot << 16;
	else
		page->narrow[page->nr] = (uint16_t)((low & 0xff) | page->local[slot] << 8);
	page->nr++;
	page->end[low >> FPL_SPAN_LOG2] = (uint16_t)page->nr;
}

/* Begin the page @page_idx. */
static void page_begin(struct image *image, uint32_t page_idx)
{
	struct image_page *page = image->page;

	image->page_idx = page_idx;
	page->vaddr = image->table->first_vaddr + ((uint64_t)page_idx << FPL_PAGE_LOG2);
	page->stamp = page_idx + 1;
	page->nr = 0;
	page->nr_dict = 0;
	memset(page->end, 0, sizeof(page->end));
}

/*
 * first[s] for every span: the end of the one before it, or of the last one before that with rows.
 */
static void write_first(const struct image_page *page, uint16_t *first)
{
	uint16_t at = 0;

	for (uint32_t span = 0; span < FPL_NR_SPANS; span++) {
		first[span] = at;
		if (page->end[span] > at)
			at = page->end[span];
	}
	first[FPL_NR_SPANS] = (uint16_t)page->nr;
	first[FPL_NR_SPANS + 1] = 0;
}

/* Write the page under construction. */
static int finish_page(struct image *image, struct fpl_err *err)
{
	struct image_page *page = image->page;
	struct fpl_page *entry = &image->dir[image->page_idx];
	bool wide = page->stamp == IMAGE_WIDE;
	uint32_t dict_bytes = page->nr_dict * (uint32_t)sizeof(page->dict[0]);
	uint32_t rows_bytes = page->nr * (wide ? 4u : 2u);
	uint8_t *bytes;
	uint32_t off;

	if (page->nr == 1 && page->dict[0] == 0)
		return 0; /* nothing here: the entry stays 0 */
	if (page->nr == 1 && image->one_row_off && page->dict[0] == image->one_row_slot) {
		*entry = (struct fpl_page){ .off = image->one_row_off, .nr_dict = 1 };
		return 0;
	}

	int code = take(image, (uint32_t)FPL_PAGE_FIRST_BYTES + dict_bytes + rows_bytes, PAGE_ALIGN,
			&off, &bytes, err);

	if (code)
		return code;
	*entry = (struct fpl_page){ .off = off, .nr_dict = (uint16_t)page->nr_dict };
	write_first(page, (uint16_t *)(void *)bytes);
	bytes += FPL_PAGE_FIRST_BYTES;
	memcpy(bytes, page->dict, dict_bytes);
	memcpy(bytes + dict_bytes, wide ? (const void *)page->wide : page->narrow, rows_bytes);
	image->nr_rows += page->nr;
	if (page->nr == 1) {
		image->one_row_off = off;
		image->one_row_slot = page->dict[0];
	}
	return 0;
}

/* Finish pages up to @page_idx and begin that one; the rule in force goes on at its first byte. */
static int move_to_page(struct image *image, uint32_t page_idx, struct fpl_err *err)
{
	if (image->page_idx == UINT32_MAX)
		page_begin(image, page_idx);
	while (image->page_idx < page_idx) {
		if (image->page->nr == 0)
			page_add(image->page, 0, image->slot);

		int code = finish_page(image, err);

		if (code)
			return code;
		page_begin(image, image->page_idx + 1);
	}
	return 0;
}

int image_change(struct image *image, uint64_t vaddr, uint32_t slot, struct fpl_err *err)
{
	uint64_t page_idx = (vaddr - image->table->first_vaddr) >> FPL_PAGE_LOG2;
	uint32_t low = (uint16_t)vaddr;

	if (slot == image->slot)
		return 0;
	if (page_idx >= image->table->nr_pages)
		return fpl_fail(err, -EINVAL, "%s: a row at %#" PRIx64 ", outside of its code",
				image->budget->name, vaddr);
	if (page_idx != image->page_idx) {
		int code = move_to_page(image, (uint32_t)page_idx, err);

		if (code)
			return code;
	}
	if (image->page->nr == 0 && low != 0)
		page_add(image->page, 0, image->slot);
	page_add(image->page, low, slot);
	image->slot = slot;
	return 0;
}

/* End the rule of the last row: the pages up to there are written. */
static int finish_pages(struct image *image, struct fpl_err *err)
{
	struct table *table = image->table;
	uint64_t pages_end = table->first_vaddr + ((uint64_t)table->nr_pages << FPL_PAGE_LOG2);
	int code = 0;

	if (image->page_idx == UINT32_MAX)
		return 0;
	if (image->end < pages_end)
		code = image_change(image, image->end, 0, err);
	if (code == 0)
		code = move_to_page(image, table->nr_pages, err);
	return code;
}

int image_finish(struct image *image, const struct rule_set *rules, struct fpl_err *err)
{
	struct table *table = image->table;
	uint8_t *bytes;
	int code = finish_pages(image, err);

	if (code)
		return code;

	uint32_t dir_bytes = table->nr_pages * (uint32_t)sizeof(*image->dir);

	code = take(image, dir_bytes, PAGE_ALIGN, &table->dir_off, &bytes, err);
	if (code)
		return code;
	memcpy(bytes, image->dir, dir_bytes);

	/* The reach of the last rule belongs to the region too. */
	uint32_t rules_bytes = (uint32_t)(rules->nr_slots * sizeof(*rules->slots));
	uint32_t reach = FPL_RULE_REACH - (uint32_t)sizeof(*rules->slots);

	code = take(image, rules_bytes + reach, sizeof(*rules->slots), &table->rules_off, &bytes,
		    err);
	if (code)
		return code;
	memcpy(bytes, rules->slots, rules_bytes);
	memset(bytes + rules_bytes, 0, reach);
	return 0;
}
