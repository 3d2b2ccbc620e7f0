/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/holes.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/synth/graph.h"

int synth_holes_add(struct synth_holes *holes, struct synth_hole hole, struct budget *budget,
		    struct fpl_err *err)
{
	int code = budget_grow(budget, &holes->list, &holes->room, holes->nr, sizeof(hole), err);

	if (code == 0)
		holes->list[holes->nr++] = hole;
	return code;
}

int synth_holes_index(struct synth_holes *holes, struct budget *budget, struct fpl_err *err)
{
	const struct synth_hole *last;
	int code;

	if (holes->nr == 0)
		return 0;
	last = &holes->list[holes->nr - 1];
	holes->base = holes->list[0].start;
	holes->nr_pages = ((last->start + last->size - holes->base) >> HOLES_PAGE_BITS) + 1;
	code = budget_memory(budget, holes->nr_pages, err);
	if (code)
		return code;
	holes->pages = calloc(holes->nr_pages, 1);
	if (!holes->pages)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);
	for (size_t i = 0; i < holes->nr; i++) {
		const struct synth_hole *hole = &holes->list[i];
		uint64_t page = (hole->start - holes->base) >> HOLES_PAGE_BITS;
		uint64_t end = (hole->start + hole->size - 1 - holes->base) >> HOLES_PAGE_BITS;

		for (; page <= end; page++)
			holes->pages[page] = 1;
	}
	return 0;
}

void synth_holes_fini(struct synth_holes *holes)
{
	free(holes->list);
	free(holes->pages);
}
