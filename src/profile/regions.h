/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map `regions`: memory in which run times keep code, and the method of its frames. A region is
 * written before a mapset that refers to it is published, and taken away with its program image. A
 * slot is used again only after all others were, and with another id, so that a mapset which still
 * refers to it finds nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_region.h"

struct regions {
	struct fpl_region *entries;	    /* borrowed [FPL_REGIONS_MAX]: the map, mapped */
	uint32_t nr_users[FPL_REGIONS_MAX]; /* of each that has an id */
	uint32_t last;			    /* the slot that was taken last; 0 is never used */
	uint32_t id;			    /* the id that was given last */
	uint64_t nr_refused;		    /* for want of a slot */
	uint64_t sljit_ref;		    /* of the one for all processes; 0: none yet */
	bool has_pcs; /* the caller's to set: all frames are to be told by a pc */
};

void regions_init(struct regions *regions, struct fpl_region *entries);

/* Take @region in; one that says the same is used once more. *ret: its reference. Errors: -EINVAL
 * it does not hold; -ENOSPC no slot is free. Cost: O(slots). */
FPL_MUST_CHECK int regions_add(struct regions *regions, const struct fpl_region *region,
			       uint64_t *ret);

/* The reference of the one region for all code that sljit makes, whose blocks say all of it: that
 * of all processes, which stays until the end. Errors: -ENOSPC no slot is free. */
FPL_MUST_CHECK int regions_sljit(struct regions *regions, uint64_t *ret);

/* One of those that have added the region with reference @ref needs it no more; without any it is
 * gone, unless it is the one for all processes. */
void regions_remove(struct regions *regions, uint64_t ref);
