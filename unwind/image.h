/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a table image (bpf/shared.h): rows go in by address, pages come out. */
#pragma once

#include "unwind/budget.h"
#include "unwind/compact.h"
#include "unwind/table.h"

enum { IMAGE_DICT_MAX = 256, IMAGE_SLOT_BITS = 16, IMAGE_LOCAL_BITS = 8 };

/* A stamp of no slot: page numbers end far below. */
#define IMAGE_WIDE (UINT32_MAX >> IMAGE_LOCAL_BITS)

/* The page under construction. */
struct image_page {
	uint64_t vaddr; /* of its first byte; UINT64_MAX: none yet */
	uint32_t stamp; /* of the slots that have a local id here; IMAGE_WIDE once there are too
			   many */
	uint32_t nr, nr_dict;
	uint16_t end[FPL_NR_SPANS];	       /* by span: index behind its last row; 0: none */
	uint16_t dict[IMAGE_DICT_MAX];	       /* slots, by local id */
	uint16_t narrow[1u << FPL_PAGE_LOG2];  /* rows as they will lie in a narrow page */
	uint32_t wide[1u << FPL_PAGE_LOG2];    /* and in a wide one, once it is one */
	uint32_t local[1u << IMAGE_SLOT_BITS]; /* by slot: stamp << 8 | local id */
};

struct image {
	struct table *table;	 /* borrowed: chunks, image_bytes */
	struct budget *budget;	 /* borrowed */
	struct fpl_page *dir;	 /* owned [nr_pages] */
	struct image_page *page; /* owned */
	uint32_t page_idx;	 /* of the page under construction; UINT32_MAX: none yet */
	uint32_t slot;		 /* in force at the end of what was added */
	uint64_t end;		 /* of the last row added */
	uint32_t one_row_off;	 /* a page of one row, shared by equal pages; 0: none yet */
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

/* The general case of image_row(). Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int image_change(struct image *image, uint64_t vaddr, uint32_t slot,
				struct fpl_err *err);

/*
 * Put @slot in force from @vaddr on; calls come in ascending order. Errors: -ENOMEM, -EFBIG. Inline
 * for a row that goes to the page of the one before it and a rule that page has: nearly all.
 */
FPL_MUST_CHECK static inline int image_row(struct image *image, uint64_t vaddr, uint32_t slot,
					   struct fpl_err *err)
{
	struct image_page *page = image->page;
	uint64_t low = vaddr - page->vaddr;
	uint32_t local = page->local[slot];

	if (slot == image->slot)
		return 0;
	if (low >= 1u << FPL_PAGE_LOG2 || local >> IMAGE_LOCAL_BITS != page->stamp)
		return image_change(image, vaddr, slot, err);
	page->narrow[page->nr++] = (uint16_t)((low & 0xff) | local << 8);
	page->end[low >> FPL_SPAN_LOG2] = (uint16_t)page->nr;
	image->slot = slot;
	return 0;
}

/*
 * Rows follow from @start on. The previous row continues over a gap that can be padding for
 * @start's alignment: at most IMAGE_GAP_MAX bytes, and fewer than @start's alignment. Any other gap
 * has no rule: hand-written code ends its FDE on purpose (the system call in glibc's clone3, which
 * the child returns from on another stack). Errors: -ENOMEM, -EFBIG.
 */
enum { IMAGE_GAP_MAX = 15 };
FPL_MUST_CHECK static inline int image_begin(struct image *image, uint64_t start,
					     struct fpl_err *err)
{
	uint64_t gap = start - image->end;
	uint64_t align = start & -start;

	if (gap == 0 || (gap <= IMAGE_GAP_MAX && gap < align))
		return 0;
	return image_row(image, image->end, 0, err);
}

/* Put @slot in force in [start, end). Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK static inline int image_add(struct image *image, uint64_t start, uint64_t end,
					   uint32_t slot, struct fpl_err *err)
{
	int code = image_begin(image, start, err);

	image->end = end;
	return code ? code : image_row(image, start, slot, err);
}

/* Write the rest: the last pages, the directory, @rules. Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int image_finish(struct image *image, const struct rule_set *rules,
				struct fpl_err *err);
