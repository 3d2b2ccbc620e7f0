/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that flow leads between: usually a function. Private to unwind/synth. */
#pragma once

#include "unwind/synth/graph.h"

/* Put blocks together that flow leads between, after synth_ends_find(): what follows a call that
 * does not come back is of no concern to the caller. */
void synth_groups_join(struct synth_graph *graph);

/* The number of one block, always the same one, of the group that block @i is in. */
uint32_t synth_group_of(struct synth_graph *graph, uint32_t i);
