/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks connected by control flow: usually a function. Private to unwind/synth. */
#pragma once

#include "unwind/synth/graph.h"

/* Join blocks connected by control flow, after synth_ends_find(): code behind a call that does not
 * return does not belong to the caller. */
void synth_groups_join(struct synth_graph *graph);

/* Number of the block that represents the group of block @i. */
uint32_t synth_group_of(struct synth_graph *graph, uint32_t i);
