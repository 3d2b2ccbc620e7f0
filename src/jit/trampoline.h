/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code made at run time that is entered through a trampoline at the beginning of its memory, and
 * runs in the frame which that one makes: that of qemu (TCG) and guile (decision 0048).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_region.h"
#include "jit/memory.h"

/*
 * Find the trampoline in executable memory @bounds [2 * @nr], the start and the end of each
 * mapping, ascending. *ret: a region that holds (FPL_REGION_FRAME), without an id: from the first
 * mapping that begins with one to the end of the last that follows with a guard page at most.
 * Errors: -ENOENT none has one. Cost: a page of each mapping is read.
 */
FPL_MUST_CHECK int trampoline_find(struct jit_memory *memory, const uint64_t *bounds, size_t nr,
				   struct fpl_region *ret);
