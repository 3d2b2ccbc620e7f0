/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/groups.h"

#include "unwind/synth/ends.h"
#include "unwind/synth/reach.h"

uint32_t synth_group_of(struct synth_graph *graph, uint32_t i)
{
	struct synth_block *blocks = graph->blocks;

	while (blocks[i].group != i) {
		blocks[i].group = blocks[blocks[i].group].group;
		i = blocks[i].group;
	}
	return i;
}

/* Put the blocks @i and, unless @number is 0, @number - 1 together. */
static void join(struct synth_graph *graph, uint32_t i, uint32_t number)
{
	if (number)
		graph->blocks[synth_group_of(graph, i)].group = synth_group_of(graph, number - 1);
}

void synth_groups_join(struct synth_graph *graph)
{
	struct synth_block *blocks = graph->blocks;

	for (uint32_t i = 0; i < graph->nr_blocks; i++)
		blocks[i].group = i;
	for (uint32_t i = 0; i < graph->nr_blocks; i++) {
		struct synth_exits exits = synth_exits_of(graph, &blocks[i]);

		if (!exits.after_call ||
		    !synth_ends_there(graph, synth_graph_op(graph, blocks[i].last)))
			join(graph, i, exits.next);
		join(graph, i, exits.target);
		for (; exits.edges; exits.edges = synth_graph_edge_after(graph, exits.edges))
			join(graph, i, synth_block_number(graph, exits.edges->to));
	}
}
