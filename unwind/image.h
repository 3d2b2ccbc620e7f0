/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a table image (bpf/shared.h): rows go in by address, pages come out. */
#pragma once

#include "unwind/budget.h"
#include "unwind/compact.h"
#include "unwind/table.h"

/* The page under construction and what it continues. */
struct image_page {
	uint16_t low[1u << FPL_PAGE_LOG2];  /* of each row's first pc */
	uint16_t slot[1u << FPL_PAGE_LOG2]; /* of each row's rule */
	uint32_t nr;
	/* By slot: low 8 bits its id in the page's dictionary, above them page_idx + 1 of the page
	 * that is true for. */
	uint32_t local[1u << 16];
};

struct image {
	struct table *table;	 /* borrowed: chunks, image_bytes */
	struct budget *budget;	 /* borrowed */
	struct fpl_page *dir;	 /* owned [nr_pages] */
	struct image_page *page; /* owned */
	uint32_t page_idx;	 /* of the page under construction; UINT32_MAX: none yet */
	uint64_t page_vaddr;	 /* of its first byte; UINT64_MAX: none yet */
	uint32_t slot;		 /* in force at the end of what was added */
	uint64_t end;		 /* of the last row added */
	uint32_t one_row_off;	 /* a page of one row, to be shared with its equals; 0: none */
	uint32_t one_row_slot;	 /* that row's slot */
	uint64_t nr_rows;
};

/*
 * Begin an image for vaddr in [first, end). @table gets its first_vaddr and nr_pages. Errors:
 * -ENOMEM, -EFBIG.
 */
FPL_MUST_CHECK int image_init(struct image *image, struct table *table, uint64_t first,
			      uint64_t end, struct budget *budget, struct fpl_err *err);
void image_fini(struct image *image);

/* From @vaddr on @slot is in force; image_add() is the way in. Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int image_change(struct image *image, uint64_t vaddr, uint32_t slot,
				struct fpl_err *err);

enum { IMAGE_GAP_MAX = 15 };

/*
 * Say that @slot is in force in [start, end). Calls come in ascending order. A gap of at most
 * IMAGE_GAP_MAX bytes (padding between functions) continues the row before it, a larger one is
 * without a rule. Errors: -ENOMEM, -EFBIG. Inline for the row that goes to the page of the one
 * before it: nearly all.
 */
FPL_MUST_CHECK static inline int image_add(struct image *image, uint64_t start, uint64_t end,
					   uint32_t slot, struct fpl_err *err)
{
	if (start - image->end > IMAGE_GAP_MAX) {
		int code = image_change(image, image->end, 0, err);

		if (code)
			return code;
	}
	image->end = end;
	if (slot == image->slot)
		return 0;

	struct image_page *page = image->page;

	if (start - image->page_vaddr >= 1u << FPL_PAGE_LOG2 || page->nr == 0)
		return image_change(image, start, slot, err);
	page->low[page->nr] = (uint16_t)start;
	page->slot[page->nr++] = (uint16_t)slot;
	image->slot = slot;
	return 0;
}

/* Write what is left: the last pages, the directory, @rules. Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int image_finish(struct image *image, const struct rule_set *rules,
				struct fpl_err *err);
