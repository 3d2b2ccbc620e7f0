/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/ends.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unwind/filler.h"
#include "unwind/synth/reach.h"

enum { FILLER_MAX = 64 };  /* bytes before a function */
enum { DEPENDENCIES = 3 }; /* of a block: the blocks it leads to, and the one it calls */
enum { NO_BLOCK = 0 };

/* Blocks to look at again when another one is found to end. */
struct dependents {
	uint32_t *first; /* owned [nr_blocks + 1]: of list */
	uint32_t *list;	 /* owned: numbers of blocks */
	uint32_t *queue; /* owned [nr_blocks] */
};

static void cleanup_dependents(struct dependents *dependents)
{
	free(dependents->first);
	free(dependents->list);
	free(dependents->queue);
}

bool synth_ends_there(const struct synth_graph *graph, const struct synth_op *op)
{
	uint32_t callee = synth_called_block(graph, op);

	return callee && !graph->blocks[callee - 1].ends;
}

uint32_t synth_ends_behind_filler(const struct synth_graph *graph, const struct synth_block *block)
{
	const struct synth_hole *hole = &graph->input->holes[synth_graph_hole(graph, block->pos)];
	uint64_t off = synth_graph_vaddr(graph, block->pos) - hole->start;
	uint32_t size = block->last - block->pos + synth_graph_op(graph, block->last)->size;

	return size < FILLER_MAX &&
			       filler_size(hole->bytes + off, size, FILLER_INSTRUCTIONS) == size
		       ? synth_exits_of(graph, block).next
		       : NO_BLOCK;
}

/* Does a way from @block end, as far as the blocks it leads to are known? */
static bool is_end(const struct synth_graph *graph, const struct synth_block *block)
{
	const struct synth_op *op = synth_graph_op(graph, block->last);
	struct synth_exits exits = synth_exits_of(graph, block);
	bool next = !exits.next || graph->blocks[exits.next - 1].ends;

	switch (op->kind) {
	case OP_END:
		return false;
	case OP_BAD:
	case OP_RETURN:
	case OP_JUMP_REGISTER:
	case OP_JUMP_MEMORY:
		return true; /* tables may lead to more than is known */
	case OP_CALL:
		return next && !synth_ends_there(graph, op);
	case OP_JUMP:
		return !exits.target || graph->blocks[exits.target - 1].ends;
	case OP_BRANCH:
		return next || !exits.target || graph->blocks[exits.target - 1].ends;
	default:
		return next;
	}
}

/* The blocks, + 1, that decide whether a way from @block ends; 0: fewer. */
static void depends_on(const struct synth_graph *graph, const struct synth_block *block,
		       uint32_t ret[DEPENDENCIES])
{
	struct synth_exits exits = synth_exits_of(graph, block);

	ret[0] = exits.next;
	ret[1] = exits.target;
	ret[2] = synth_called_block(graph, synth_graph_op(graph, block->last));
}

/* Turn what blocks depend on around. */
static int turn_around(const struct synth_graph *graph, struct dependents *ret, struct fpl_err *err)
{
	size_t nr = graph->nr_blocks;
	uint32_t on[DEPENDENCIES];
	int code = budget_memory(graph->budget, nr * (2 + DEPENDENCIES) * sizeof(*ret->list), err);

	if (code)
		return code;
	ret->first = calloc(nr + 2, sizeof(*ret->first));
	ret->list = calloc(nr + 1, DEPENDENCIES * sizeof(*ret->list));
	ret->queue = calloc(nr + 1, sizeof(*ret->queue));
	if (!ret->first || !ret->list || !ret->queue)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	for (size_t i = 0; i < nr; i++) {
		depends_on(graph, &graph->blocks[i], on);
		for (unsigned k = 0; k < DEPENDENCIES; k++)
			if (on[k])
				ret->first[on[k] + 1]++;
	}
	for (size_t i = 1; i <= nr + 1; i++)
		ret->first[i] += ret->first[i - 1];
	/* first[n] is the index of the next one of n; at the end, the first of n + 1 */
	for (size_t i = 0; i < nr; i++) {
		depends_on(graph, &graph->blocks[i], on);
		for (unsigned k = 0; k < DEPENDENCIES; k++)
			if (on[k])
				ret->list[ret->first[on[k]]++] = (uint32_t)i;
	}
	return 0;
}

int synth_ends_find(struct synth_graph *graph, struct fpl_err *err)
{
	CLEANUP(cleanup_dependents) struct dependents dependents = { 0 };
	int code = turn_around(graph, &dependents, err);
	size_t nr_queue = 0;

	if (code)
		return code;
	for (size_t i = graph->nr_blocks; i-- > 0;) {
		graph->blocks[i].ends = is_end(graph, &graph->blocks[i]);
		if (graph->blocks[i].ends)
			dependents.queue[nr_queue++] = (uint32_t)i;
	}
	while (nr_queue) {
		uint32_t number = dependents.queue[--nr_queue];

		for (uint32_t i = dependents.first[number]; i < dependents.first[number + 1]; i++) {
			struct synth_block *block = &graph->blocks[dependents.list[i]];

			if (block->ends || !is_end(graph, block))
				continue;
			block->ends = true;
			dependents.queue[nr_queue++] = dependents.list[i];
		}
	}
	return 0;
}
