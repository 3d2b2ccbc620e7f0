/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions return? Control flow alone tells, before anything is known of the stack: a
 * function that can reach neither a return nor unknown code is exit(), abort() or the like, and
 * another function begins behind its call. Private to unwind/synth.
 */
#pragma once

#include "unwind/synth/graph.h"

/*
 * Set `ends` of each block from which a way leads to a return, or to unknown code. Errors: as
 * synth_analyse(). Cost: linear in blocks and edges.
 */
FPL_MUST_CHECK int synth_ends_find(struct synth_graph *graph, struct fpl_err *err);

/* Is @op a call of a function in a hole that does not return? */
bool synth_ends_there(const struct synth_graph *graph, const struct synth_op *op);

/* Number of the block, + 1, that follows @block, if @block is only the filler that compilers put
 * before functions; 0: it is not. Cost: bounded. */
uint32_t synth_ends_behind_filler(const struct synth_graph *graph, const struct synth_block *block);
