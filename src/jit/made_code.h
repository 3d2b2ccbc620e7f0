/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a worker, and its answer: a process has code that runs in the frame of its entry
 * (decision 0048), on stacks of its own (0049), or is registered for debuggers (0052). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared_region.h"

#define MADE_RANGES_MAX 64u
#define MADE_BASES_MAX	128u
#define MADE_PIECES_MAX 63u

/* The question. */
struct made_question {
	/* of the object with PHP's interpreter or Erlang's run time; 0: look for a trampoline, or
	 * with nr_bases for files that one of these objects has registered for debuggers */
	uint64_t base;
	size_t nr_bases;
	uint64_t bases[MADE_BASES_MAX]; /* [nr_bases] */
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
	uint64_t base; /* of the object that has registered files; 0: they are not asked for */
	struct made_piece pieces[MADE_PIECES_MAX]; /* [nr]; where two have a pc, the first counts */
};

/* Is there a piece, unless files are registered, and does each hold? */
static inline bool made_code_check(const struct made_code *made)
{
	if ((!made->nr && !made->base) || made->nr > MADE_PIECES_MAX)
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
