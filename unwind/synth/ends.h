/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions come back, told by where code leads alone, before anything is known of the stack:
 * one that cannot get to a return, or out of what can be seen, is exit() or abort() or their like,
 * and what follows its call is another function. Private to unwind/synth.
 */
#pragma once

#include "unwind/synth/graph.h"

/*
 * Set `ends` of each block from which a way leads to a return, or to where nothing is known.
 * Errors: as synth_analyse(). Cost: linear in blocks and edges.
 */
FPL_MUST_CHECK int synth_ends_find(struct synth_graph *graph, struct fpl_err *err);

/* Is @op a call of a function in a hole that does not come back? */
bool synth_ends_there(const struct synth_graph *graph, const struct synth_op *op);

/* Number of the block, + 1, that follows @block, where @block is nothing but what compilers put
 * before functions; 0: it is something. Cost: bounded. */
uint32_t synth_ends_behind_filler(const struct synth_graph *graph, const struct synth_block *block);
