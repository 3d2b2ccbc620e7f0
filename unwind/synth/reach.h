/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets of blocks, and the registers that a call may write on all ways from there. Private to
 * unwind/synth.
 */
#pragma once

#include "unwind/synth/graph.h"

/* Targets of a block; numbers of blocks + 1, 0: nowhere in a hole. */
struct synth_exits {
	uint32_t next, target;
	bool after_call;		/* next is where a call comes back to */
	const struct synth_edge *edges; /* of a jump by register */
};

/* Number of the block that begins at @pos, + 1; 0: no block does. */
uint32_t synth_block_number(const struct synth_graph *graph, uint32_t pos);

/* Number of the block that @op calls, + 1; 0: it calls none in a hole. */
uint32_t synth_called_block(const struct synth_graph *graph, const struct synth_op *op);

struct synth_exits synth_exits_of(const struct synth_graph *graph, const struct synth_block *block);

struct synth_reach;

FPL_MUST_CHECK int synth_reach_create(struct synth_graph *graph, struct synth_reach **ret,
				      struct fpl_err *err);
void synth_reach_destroy(struct synth_reach *reach);

/*
 * Registers that some instruction writes on a way from the call at @pos, as far as the code can be
 * followed; all registers, if it cannot. Cost: linear in the code that is called, up to a limit,
 * the first time.
 */
uint16_t synth_reach_written(struct synth_reach *reach, uint32_t pos);
