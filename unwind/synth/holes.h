/* SPDX-License-Identifier: Apache-2.0 */
/* The holes of a file, and the search for the hole of a vaddr. Private to unwind/synth. */
#pragma once

#include "base/sorted.h"
#include "unwind/synth/synth.h"

enum { HOLES_PAGE_BITS = 12 };

struct synth_holes {
	struct synth_hole *list; /* owned [nr], ascending, disjoint */
	size_t nr, room;
	uint8_t *pages; /* owned [nr_pages]: by page from base on: is there a hole in it? */
	uint64_t base, nr_pages;
};

/* Append [start, start + size), whose bytes outlive the list. Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int synth_holes_add(struct synth_holes *holes, struct synth_hole hole,
				   struct budget *budget, struct fpl_err *err);

/* Build the index of synth_holes_have(), after the last hole. Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int synth_holes_index(struct synth_holes *holes, struct budget *budget,
				     struct fpl_err *err);

void synth_holes_fini(struct synth_holes *holes);

/* Is @vaddr in a hole? Cost: O(1) if its page has no hole, else O(log holes). */
static inline bool synth_holes_have(const struct synth_holes *holes, uint64_t vaddr)
{
	uint64_t page = (vaddr - holes->base) >> HOLES_PAGE_BITS;

	if (page >= holes->nr_pages || !holes->pages[page])
		return false;

	size_t nr = SORTED_UP_TO(holes->list, start, holes->nr, vaddr);

	return nr > 0 && vaddr - holes->list[nr - 1].start < holes->list[nr - 1].size;
}
