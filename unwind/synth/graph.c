/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/graph.h"

#include <stdlib.h>

#include "base/sorted.h"
#include "unwind/zeroed.h"

size_t synth_graph_hole(const struct synth_graph *graph, uint32_t pos)
{
	return SORTED_NUMBERS(graph->bases, graph->input->nr_holes, pos) - 1;
}

uint32_t synth_graph_pos(const struct synth_graph *graph, uint64_t vaddr)
{
	const struct synth_hole *holes = graph->input->holes;
	size_t nr = SORTED_UP_TO(holes, start, graph->input->nr_holes, vaddr);

	if (nr == 0 || vaddr - holes[nr - 1].start >= holes[nr - 1].size)
		return 0;
	return graph->bases[nr - 1] + (uint32_t)(vaddr - holes[nr - 1].start);
}

uint64_t synth_graph_vaddr(const struct synth_graph *graph, uint32_t pos)
{
	size_t hole = synth_graph_hole(graph, pos);

	return graph->input->holes[hole].start + (pos - graph->bases[hole]);
}

const struct synth_edge *synth_graph_edges(const struct synth_graph *graph, uint32_t pos)
{
	size_t nr = graph->nr_edges_ordered, i = SORTED_UP_TO(graph->edges, from, nr, pos - 1);

	return i < nr && graph->edges[i].from == pos ? &graph->edges[i] : NULL;
}

const struct synth_edge *synth_graph_edge_after(const struct synth_graph *graph,
						const struct synth_edge *edge)
{
	const struct synth_edge *next = edge + 1;

	return next < graph->edges + graph->nr_edges_ordered && next->from == edge->from ? next
											 : NULL;
}

static int by_ends(const void *a, const void *b)
{
	const struct synth_edge *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->to < right->to ? -1 : left->to > right->to;
}

void synth_graph_order_edges(struct synth_graph *graph)
{
	size_t nr = 0;

	if (graph->nr_edges)
		qsort(graph->edges, graph->nr_edges, sizeof(*graph->edges), by_ends);
	for (size_t i = 0; i < graph->nr_edges; i++)
		if (nr == 0 || by_ends(&graph->edges[nr - 1], &graph->edges[i]))
			graph->edges[nr++] = graph->edges[i];
	graph->nr_edges = graph->nr_edges_ordered = nr;
}

void synth_graph_fini(struct synth_graph *graph)
{
	synth_decoder_destroy(graph->decoder);
	free(graph->bases);
	zeroed_free(graph->index, ((size_t)graph->nr_bytes + 1) * sizeof(*graph->index));
	zeroed_free(graph->bytes, (size_t)graph->nr_bytes + 1);
	free(graph->ops);
	free(graph->block_of);
	free(graph->reasons);
	free(graph->fp_refuted);
	free(graph->blocks);
	free(graph->edges);
}
