/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/reach.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unwind/synth/known.h"

/* Limit of blocks per call; searches between two looks at the clock. */
enum { REACH_MAX = 512, CHECK_EVERY = 16 };

static const uint16_t everything = UINT16_MAX;

/* Facts about a block as the beginning of a callee. */
struct callee {
	uint32_t looked_at; /* in this search */
	uint16_t written;
	bool known;
};

struct synth_reach {
	struct synth_graph *graph; /* borrowed */
	struct callee *callees;	   /* owned, by number of block */
	uint32_t search;
	bool is_late; /* the time is used up, as the caller will find out */
	uint32_t queue[REACH_MAX];
	size_t nr_queue;
};

uint32_t synth_block_number(const struct synth_graph *graph, uint32_t pos)
{
	const struct synth_block *block = pos ? synth_graph_block(graph, pos) : NULL;

	return block ? (uint32_t)(block - graph->blocks) + 1 : 0;
}

uint32_t synth_called_block(const struct synth_graph *graph, const struct synth_op *op)
{
	return op->kind == OP_CALL
		       ? synth_block_number(graph, synth_graph_pos(graph, (uint64_t)op->imm))
		       : 0;
}

struct synth_exits synth_exits_of(const struct synth_graph *graph, const struct synth_block *block)
{
	const struct synth_op *op = synth_graph_op(graph, block->last);
	uint32_t next = synth_block_number(graph, synth_graph_next(graph, block->last));
	struct synth_exits exits = { 0 };

	switch (op->kind) {
	case OP_JUMP:
	case OP_BRANCH:
		exits.target = synth_block_number(graph, synth_graph_pos(graph, (uint64_t)op->imm));
		exits.next = op->kind == OP_BRANCH ? next : 0;
		break;
	case OP_CALL:
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
		exits.next = next;
		exits.after_call = true;
		break;
	case OP_JUMP_REGISTER:
	case OP_JUMP_MEMORY:
		exits.edges = synth_graph_edges(graph, block->last);
		break;
	case OP_RETURN:
	case OP_END:
	case OP_BAD:
		break;
	default:
		exits.next = next;
	}
	return exits;
}

static void cleanup_reach(struct synth_reach **reach)
{
	synth_reach_destroy(*reach);
}

int synth_reach_create(struct synth_graph *graph, struct synth_reach **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_reach) struct synth_reach *reach = calloc(1, sizeof(*reach));
	size_t nr = graph->nr_blocks + 1;
	int code = budget_memory(graph->budget, nr * sizeof(*reach->callees), err);

	if (code)
		return code;
	if (reach)
		reach->callees = calloc(nr, sizeof(*reach->callees));
	if (!reach || !reach->callees)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	reach->graph = graph;
	*ret = TAKE_PTR(reach);
	return 0;
}

void synth_reach_destroy(struct synth_reach *reach)
{
	if (reach)
		free(reach->callees);
	free(reach);
}

/* False: there is no room. */
static bool look_at(struct synth_reach *reach, uint32_t number)
{
	if (!number || reach->callees[number - 1].looked_at == reach->search)
		return true;
	if (reach->nr_queue == REACH_MAX)
		return false;
	reach->callees[number - 1].looked_at = reach->search;
	reach->queue[reach->nr_queue++] = number - 1;
	return true;
}

/* Follow all targets of @block's last instruction. False: unknown target. */
static bool look_on(struct synth_reach *reach, const struct synth_block *block)
{
	const struct synth_graph *graph = reach->graph;
	const struct synth_op *op = synth_graph_op(graph, block->last);
	struct synth_exits exits = synth_exits_of(graph, block);
	const struct synth_edge *edge = synth_graph_edges(graph, block->last);
	bool ends = op->kind >= OP_RETURN && op->kind != OP_BRANCH;
	uint32_t callee = synth_called_block(graph, op);

	if (op->kind == OP_CALL_ANY || op->kind == OP_CALL_REGISTER ||
	    ((op->kind == OP_JUMP_MEMORY || op->kind == OP_JUMP_REGISTER) && !edge) ||
	    (!ends && !exits.next) || (op->kind == OP_CALL && !callee) ||
	    ((op->kind == OP_JUMP || op->kind == OP_BRANCH) && !exits.target))
		return false;
	for (; edge; edge = synth_graph_edge_after(graph, edge))
		if (!look_at(reach, synth_block_number(graph, edge->to)))
			return false;
	return look_at(reach, exits.next) && look_at(reach, exits.target) && look_at(reach, callee);
}

static uint16_t search(struct synth_reach *reach, uint32_t number)
{
	const struct synth_graph *graph = reach->graph;
	unsigned mask = 0;

	/* many callees may end in the same long code */
	if (reach->search++ % CHECK_EVERY == 0)
		reach->is_late = budget_check(graph->budget, NULL) != 0;
	if (reach->is_late)
		return everything;
	reach->nr_queue = 0;
	look_at(reach, number);
	for (size_t i = 0; i < reach->nr_queue; i++) {
		const struct synth_block *block = &graph->blocks[reach->queue[i]];

		for (uint32_t pos = block->pos; pos; pos = synth_graph_next(graph, pos)) {
			mask |= synth_written_by(synth_graph_op(graph, pos));
			if (pos == block->last)
				break;
		}
		if ((mask & SYNTH_ABI_CLOBBERS) == SYNTH_ABI_CLOBBERS || !look_on(reach, block))
			return everything;
	}
	return (uint16_t)mask;
}

static uint16_t written_from(struct synth_reach *reach, uint32_t number)
{
	struct callee *callee = &reach->callees[number - 1];

	if (!callee->known)
		callee->written = search(reach, number);
	callee->known = true;
	return callee->written;
}

uint16_t synth_reach_written(struct synth_reach *reach, uint32_t pos)
{
	const struct synth_graph *graph = reach->graph;
	uint32_t callee = synth_called_block(graph, synth_graph_op(graph, pos));

	return callee ? written_from(reach, callee) : everything;
}
