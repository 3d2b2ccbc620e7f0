/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a worker, and its answer: a process has code that runs in the frame of its entry
 * (decision 0048), or on stacks of its own (0049). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared_region.h"

#define MADE_RANGES_MAX 64u
#define MADE_PIECES_MAX 3u

/* The question. */
struct made_question {
	/* of the object with PHP's interpreter or Erlang's run time; 0: look for a trampoline */
	uint64_t base;
	size_t nr;
	uint64_t bounds[2 * MADE_RANGES_MAX]; /* [2 * nr], ascending: of executable mappings */
};

/* A part of the answer: code in [start, end) has the method of @region, which reaches at least as
 * far. */
struct made_piece {
	uint64_t start, end;
	struct fpl_region region; /* FPL_REGION_FRAME or _BEAM, without an id */
};

struct made_code {
	uint32_t nr, _pad;
	struct made_piece pieces[MADE_PIECES_MAX]; /* [nr]; where two have a pc, the first counts */
};

/* Is there a piece, and does each hold? */
static inline bool made_code_check(const struct made_code *made)
{
	if (!made->nr || made->nr > MADE_PIECES_MAX)
		return false;
	for (uint32_t i = 0; i < made->nr; i++) {
		const struct made_piece *piece = &made->pieces[i];

		if (piece->start >= piece->end ||
		    (piece->region.kind != FPL_REGION_FRAME &&
		     piece->region.kind != FPL_REGION_BEAM) ||
		    !fpl_region_holds(&piece->region) || piece->start < piece->region.start ||
		    piece->end > piece->region.end)
			return false;
	}
	return true;
}
