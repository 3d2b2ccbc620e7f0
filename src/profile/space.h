/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owners of parts of a numbered range: extents of units (bytes of the pool, entries of an
 * array), first fit. Knows nothing of their contents.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"

struct space_extent {
	uint32_t first, nr;
};

struct space {
	VECTOR(struct space_extent) free; /* ascending, no two touch */
	uint32_t size;			  /* units in all */
	uint32_t in_use;		  /* units handed out */
};

/* All of [0, @size) is free. Errors: -ENOMEM. */
FPL_MUST_CHECK int space_init(struct space *space, uint32_t size);
void space_fini(struct space *space);

/*
 * Take @nr units (1..) whose first is a multiple of @align (1..). If @boundary is not 0 (a multiple
 * of @align), the units do not cross a multiple of it, or begin at one if @nr > @boundary. Errors:
 * -ENOSPC no such gap; -ENOMEM. Cost: O(gaps).
 */
FPL_MUST_CHECK int space_alloc(struct space *space, uint32_t nr, uint32_t align, uint32_t boundary,
			       uint32_t *ret);

/* Give back what one call of space_alloc gave. Errors: -ENOMEM: the units stay taken. */
int space_free(struct space *space, uint32_t first, uint32_t nr);
