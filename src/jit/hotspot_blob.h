/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs: the pieces of code in a code heap of HotSpot, each behind a header that says what it is.
 * The heap is blocks, one behind the other, each free or a blob.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "jit/hotspot.h"

struct hotspot_blob {
	const struct fpl_region *heap; /* borrowed */
	uint64_t at, room;	       /* the address of its header, the bytes it may have */
};

/* Code of a blob. */
struct hotspot_code {
	char kind[JIT_TEXT_MAX]; /* "nmethod", "StubRoutines (1)" */
	uint64_t begin, end;
};

/* Find the blob around @pc in @heap, by the segment map, as bpf/walk_region.h does. False: there is
 * free memory, or what makes no sense. Cost: FPL_SEGMENT_HOPS reads at most. */
bool hotspot_blob_find(struct jit_memory *memory, const struct hotspot *hotspot,
		       const struct fpl_region *heap, uint64_t pc, struct hotspot_blob *ret);

/* Read the header of @blob. False: it makes no sense. */
bool hotspot_blob_read(struct jit_memory *memory, const struct hotspot *hotspot,
		       const struct hotspot_blob *blob, struct hotspot_code *ret);

/*
 * Find the next code that HotSpot has written by itself ("StubRoutines"), from the block at *@block
 * on, which is the start of a heap at first: *@block is the one behind it then. False: there is no
 * more among the next HOTSPOT_BLOCKS_MAX blocks. Cost: a page for each block.
 */
#define HOTSPOT_BLOCKS_MAX 2048u
bool hotspot_stubs_next(struct jit_memory *memory, const struct hotspot *hotspot,
			const struct fpl_region *heap, uint64_t *block, struct hotspot_code *ret);
