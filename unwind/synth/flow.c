/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/synth/ends.h"
#include "unwind/synth/groups.h"
#include "unwind/synth/reach.h"

/*
 * Steps of one instruction for a group, per instruction in it: code of people and compilers needs
 * about three.
 */
enum { STEPS_PER_OP = 64, STEPS_MIN = 1 << 16, CALL_DEPTH_MAX = 64, NEED_ROUNDS = 16 };
enum { CHECK_EVERY = 1 << 16 };
enum { FILLER_BLOCKS_MAX = 4 }; /* before a function */

static const uint16_t abi_clobbers = SYNTH_ABI_CLOBBERS;

/* Blocks connected by control flow: usually a function. */
struct group {
	uint32_t first, nr; /* order[first .. first + nr) */
	uint16_t clobbers;  /* registers that a call of it changes */
	uint8_t progress;
	bool bad;     /* something in it ends in nonsense */
	bool endless; /* it took more steps than it may */
	bool known;   /* there is better evidence for it than an address taken */
	bool taken;   /* code takes its address */
	bool guessed; /* there is no evidence at all */
	bool returns; /* somewhere, as a function does */
};
enum { GROUP_NEW, GROUP_BEGUN, GROUP_DONE };

/* A call from one group to another. */
struct call {
	uint32_t from, to;
};

/* Numbers of blocks. */
struct list {
	uint32_t *numbers; /* owned [nr] */
	size_t nr, room;
};

struct flow {
	struct synth_graph *graph;
	struct synth_rows *rows;
	struct group *groups; /* owned [nr_groups] */
	size_t nr_groups;
	uint32_t *order;	    /* owned [nr_blocks]: numbers of blocks, by group */
	struct synth_state *states; /* owned [room_states]: of the current group */
	size_t room_states;
	struct list queue; /* blocks to run */
	struct list calls; /* blocks that end in calls, to come back from */
	struct list jumps; /* blocks that end in jumps by tables, to follow near, then far */
	struct list far;
	uint32_t *entries; /* owned [nr_entries], ascending: possible beginnings of functions */
	size_t nr_entries;
	struct call *edges; /* owned [nr_edges] */
	size_t nr_edges, room_edges;
	uint64_t steps, steps_max; /* of the group that is looked at */
	uint64_t work;		   /* since the last look at the clock */
	struct synth_reach *reach; /* owned */
	struct fpl_err *err;
};

/* Number groups from 0 on, and put the blocks of each together. */
static int number_groups(struct flow *flow)
{
	struct synth_graph *graph = flow->graph;
	size_t nr = graph->nr_blocks;
	AUTO_FREE uint32_t *ids = calloc(nr + 1, sizeof(*ids));
	int code = budget_memory(graph->budget, nr * (sizeof(*flow->groups) + 8), flow->err);

	if (code)
		return code;
	flow->groups = calloc(nr + 1, sizeof(*flow->groups));
	flow->order = calloc(nr + 1, sizeof(*flow->order));
	flow->rows->needed = calloc(nr + 1, sizeof(*flow->rows->needed));
	if (!ids || !flow->groups || !flow->order || !flow->rows->needed)
		return fpl_fail(flow->err, -ENOMEM, "%s: out of memory", graph->budget->name);
	synth_groups_join(graph);
	for (uint32_t i = 0; i < nr; i++)
		if (synth_group_of(graph, i) == i)
			ids[i] = (uint32_t)flow->nr_groups++;
	for (uint32_t i = 0; i < nr; i++)
		flow->groups[ids[synth_group_of(graph, i)]].nr++;
	for (uint32_t g = 1; g < flow->nr_groups; g++)
		flow->groups[g].first = flow->groups[g - 1].first + flow->groups[g - 1].nr;
	for (uint32_t g = 0; g < flow->nr_groups; g++)
		flow->groups[g].nr = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct group *group = &flow->groups[ids[synth_group_of(graph, i)]];

		flow->order[group->first + group->nr++] = i;
	}
	for (uint32_t g = 0; g < flow->nr_groups; g++)
		for (uint32_t i = 0; i < flow->groups[g].nr; i++)
			graph->blocks[flow->order[flow->groups[g].first + i]].group = g;
	return 0;
}

static struct synth_block *block_of_group(const struct flow *flow, const struct group *group,
					  uint32_t i)
{
	return &flow->graph->blocks[flow->order[group->first + i]];
}

/* Number of the group that @op calls, + 1; 0: it is in no hole. */
static uint32_t callee_of(const struct flow *flow, const struct synth_op *op)
{
	uint32_t number =
		op->kind == OP_CALL
			? synth_block_number(flow->graph,
					     synth_graph_pos(flow->graph, (uint64_t)op->imm))
			: 0;

	return number ? flow->graph->blocks[number - 1].group + 1 : 0;
}

/* The caller's registers that the call @op at @pos may change. */
static uint16_t call_clobbers(struct flow *flow, const struct synth_op *op, uint32_t pos)
{
	uint32_t callee = callee_of(flow, op);
	const struct group *group = callee ? &flow->groups[callee - 1] : NULL;
	uint16_t clobbers = group && group->progress == GROUP_DONE && !group->bad ? group->clobbers
										  : abi_clobbers;

	if (op->kind < OP_CALL || op->kind > OP_CALL_REGISTER)
		return 0;
	return clobbers & synth_reach_written(flow->reach, pos);
}

static int list_add(struct flow *flow, struct list *list, const struct synth_block *block)
{
	int code = budget_grow(flow->graph->budget, &list->numbers, &list->room, list->nr,
			       sizeof(*list->numbers), flow->err);

	if (code == 0)
		list->numbers[list->nr++] = (uint32_t)(block - flow->graph->blocks);
	return code;
}

static struct synth_block *list_take(struct flow *flow, struct list *list)
{
	return &flow->graph->blocks[list->numbers[--list->nr]];
}

static int enqueue(struct flow *flow, struct synth_block *block)
{
	if (block->queued)
		return 0;
	block->queued = true;
	return list_add(flow, &flow->queue, block);
}

/*
 * Merge @state into @block's entry, reached by a way of @belief. If a more certain way has another
 * stack there, drop this one and set *ret_true = false.
 */
static int deposit(struct flow *flow, struct synth_block *block, const struct synth_state *state,
		   enum synth_belief belief, bool *ret_true)
{
	struct synth_state *there = &flow->states[block->state];

	*ret_true = true;
	if (!block->reached) {
		block->reached = true;
		block->belief = (uint8_t)belief;
		*there = *state;
		return enqueue(flow, block);
	}
	if (belief < block->belief && synth_state_other_depth(there, state)) {
		*ret_true = false;
		return 0;
	}
	if (belief > block->belief) {
		block->belief = (uint8_t)belief;
		synth_state_merge(there, state);
		return enqueue(flow, block);
	}
	return synth_state_merge(there, state) ? enqueue(flow, block) : 0;
}

/* The state behind the last instruction of @block. */
static struct synth_state leave_block(struct flow *flow, const struct synth_block *block)
{
	const struct synth_graph *graph = flow->graph;
	struct synth_state state = flow->states[block->state];

	for (uint32_t pos = block->pos;; pos = synth_graph_next(graph, pos)) {
		const struct synth_op *op = synth_graph_op(graph, pos);

		if (!synth_state_stays(&state, op))
			synth_state_step(&state, op, pos, call_clobbers(flow, op, pos));
		flow->steps++;
		flow->work++;
		if (pos == block->last)
			return state;
	}
}

/* A jump to the beginning of a function, with nothing left on the stack, is a tail call. */
static bool is_tail_call(const struct synth_graph *graph, const struct synth_block *target,
			 const struct synth_state *state)
{
	return (graph->bytes[target->pos] & BYTE_ENTRIES) && synth_state_is_entry(state);
}

/* Go on from @block, with @state behind it, to the block of @number, unless that is 0. */
static int go_on(struct flow *flow, struct synth_block *block, uint32_t number,
		 const struct synth_state *state)
{
	bool is_true;
	int code = 0;

	if (number) {
		code = deposit(flow, &flow->graph->blocks[number - 1], state,
			       (enum synth_belief)block->belief, &is_true);
		if (!is_true)
			block->reason = SYNTH_REASON_BAD_END;
	}
	return code;
}

static int run_block(struct flow *flow, struct synth_block *block)
{
	const struct synth_graph *graph = flow->graph;
	struct synth_exits exits = synth_exits_of(graph, block);
	struct synth_state state = leave_block(flow, block);
	int code = 0;

	if (exits.after_call)
		return list_add(flow, &flow->calls, block);
	if (exits.edges && exits.edges->by_table)
		code = list_add(flow, &flow->jumps, block);
	if (exits.target && !is_tail_call(graph, &graph->blocks[exits.target - 1], &state) &&
	    code == 0)
		code = go_on(flow, block, exits.target, &state);
	if (code == 0)
		code = go_on(flow, block, exits.next, &state);
	for (; exits.edges && code == 0; exits.edges = synth_graph_edge_after(graph, exits.edges))
		if (!exits.edges->by_table)
			code = go_on(flow, block, synth_block_number(graph, exits.edges->to),
				     &state);
	return code;
}

/* The function that @pos is in, by the possible beginnings of functions. */
static size_t function_of(const struct flow *flow, uint32_t pos)
{
	return SORTED_NUMBERS(flow->entries, flow->nr_entries, pos);
}

/* Follow the jump by table that ends @block, for entries of @belief. */
static int run_jump(struct flow *flow, struct synth_block *block, enum synth_belief belief)
{
	struct synth_graph *graph = flow->graph;
	struct synth_state state = leave_block(flow, block);
	const struct synth_edge *edge = synth_graph_edges(graph, block->last);
	size_t function = function_of(flow, block->last);
	int code = belief == BELIEF_NEAR ? list_add(flow, &flow->far, block) : 0;
	bool is_true;

	for (; edge && code == 0; edge = synth_graph_edge_after(graph, edge), flow->work++) {
		enum synth_belief of_edge =
			function_of(flow, edge->to) == function ? BELIEF_NEAR : BELIEF_FAR;

		if (!edge->by_table || of_edge != belief)
			continue;
		if (of_edge > block->belief)
			of_edge = (enum synth_belief)block->belief;
		code = deposit(flow, synth_graph_block(graph, edge->to), &state, of_edge, &is_true);
	}
	return code;
}

/* Does the call that ends @block never return, like abort()? */
static bool ends_there(const struct flow *flow, const struct synth_block *block)
{
	const struct synth_input *input = flow->graph->input;
	const struct synth_op *op = synth_graph_op(flow->graph, block->last);

	if (synth_ends_there(flow->graph, op))
		return true;
	return input->returns &&
	       !input->returns(input->ctx, synth_graph_vaddr(flow->graph, block->last), op->size);
}

/* Was the block of @number, or the one behind it if it is filler, reached with another stack than
 * @state's? */
static bool is_of_other_depth(const struct flow *flow, uint32_t number,
			      const struct synth_state *state)
{
	for (unsigned i = 0; number && i < FILLER_BLOCKS_MAX; i++) {
		const struct synth_block *block = &flow->graph->blocks[number - 1];

		if (block->reached && synth_state_other_depth(&flow->states[block->state], state))
			return true;
		number = synth_ends_behind_filler(flow->graph, block);
	}
	return false;
}

/*
 * Return from the call that ends @block, unless the code behind it was reached with another stack:
 * then the call is one of abort() and the like, and the next function begins there.
 */
static int come_back(struct flow *flow, struct synth_block *block)
{
	struct synth_exits exits = synth_exits_of(flow->graph, block);
	struct synth_state state = leave_block(flow, block);

	if (!exits.next)
		return 0;
	block->no_return = is_of_other_depth(flow, exits.next, &state) || ends_there(flow, block);
	return block->no_return ? 0 : go_on(flow, block, exits.next, &state);
}

/* Is there evidence that a function begins with @block? */
static bool is_told(const struct flow *flow, const struct synth_block *block)
{
	return flow->graph->bytes[block->pos] & BYTE_ENTRIES & ~BYTE_GUESS;
}

/*
 * Try a guess alone, not with better known code: a part split off a function would join the
 * function that it ends in, and count as known.
 */
static int enter_group(struct flow *flow, struct group *group)
{
	struct synth_state state;
	bool is_true;
	int code = 0;

	synth_state_enter(&state);
	group->guessed = true;
	for (uint32_t i = 0; i < group->nr; i++)
		group->guessed &= !is_told(flow, block_of_group(flow, group, i));
	for (uint32_t i = 0; i < group->nr && code == 0; i++) {
		struct synth_block *block = block_of_group(flow, group, i);
		uint8_t byte = flow->graph->bytes[block->pos];

		block->state = i;
		if (!is_told(flow, block) && !(group->guessed && (byte & BYTE_GUESS)))
			continue;
		group->known |= (byte & BYTE_ENTRY) != 0;
		/* a function that never returns has no return to prove it */
		group->taken |= (byte & BYTE_ADDRESS) || ((byte & BYTE_DATA) && !block->ends);
		code = deposit(flow, block, &state, BELIEF_SURE, &is_true);
	}
	return code;
}

static int states_room(struct flow *flow, size_t nr)
{
	if (nr <= flow->room_states)
		return 0;

	int code = budget_memory(flow->graph->budget, nr * sizeof(*flow->states), flow->err);

	if (code)
		return code;
	free(flow->states);
	flow->states = calloc(nr, sizeof(*flow->states));
	flow->room_states = flow->states ? nr : 0;
	return flow->states ? 0
			    : fpl_fail(flow->err, -ENOMEM, "%s: out of memory",
				       flow->graph->budget->name);
}

/* Run until no fact is lost any more. A group that takes too long is bad. */
static int settle(struct flow *flow, struct group *group)
{
	int code = enter_group(flow, group);

	flow->steps = 0;
	flow->steps_max = STEPS_MIN;
	for (uint32_t i = 0; i < group->nr; i++) {
		const struct synth_block *block = block_of_group(flow, group, i);

		flow->steps_max += (uint64_t)STEPS_PER_OP * (1 + (block->last - block->pos) / 4);
	}
	while (code == 0 && flow->steps <= flow->steps_max) {
		struct synth_block *block;

		if (flow->queue.nr) {
			block = list_take(flow, &flow->queue);
			block->queued = false;
			code = run_block(flow, block);
		} else if (flow->calls.nr) {
			code = come_back(flow, list_take(flow, &flow->calls));
		} else if (flow->jumps.nr) {
			code = run_jump(flow, list_take(flow, &flow->jumps), BELIEF_NEAR);
		} else if (flow->far.nr) {
			code = run_jump(flow, list_take(flow, &flow->far), BELIEF_FAR);
		} else {
			break;
		}
		if (code == 0 && flow->work > CHECK_EVERY) {
			flow->work = 0;
			code = budget_check(flow->graph->budget, flow->err);
		}
	}
	if (flow->steps > flow->steps_max) {
		group->bad = group->endless = true;
		flow->queue.nr = flow->calls.nr = flow->jumps.nr = flow->far.nr = 0;
	}
	return code ? code : budget_check(flow->graph->budget, flow->err);
}

/* May code go on at @vaddr, outside of the holes, with @state? */
static bool may_leave(const struct synth_graph *graph, uint64_t vaddr,
		      const struct synth_state *state)
{
	const struct synth_input *input = graph->input;
	const struct cfi_row *row = input->cfi ? input->cfi(input->ctx, vaddr) : NULL;

	return row ? synth_state_judge(state, row) != OPINION_WRONG
		   : synth_state_is_balanced(state);
}

/* Note the caller's registers at a return: they are part of the effect of calling the group. */
static void note_return(struct group *group, const struct synth_state *state)
{
	group->clobbers |= (uint16_t)(~synth_state_initial(state) & ~(1u << ARCH_SP));
	if (synth_state_is_entry(state))
		group->returns = true;
}

/* Is the end of @block plausible, with @state before its last instruction and @after behind it? */
static bool ends_well(struct flow *flow, struct group *group, const struct synth_block *block,
		      const struct synth_state *state, const struct synth_state *after)
{
	const struct synth_graph *graph = flow->graph;
	const struct synth_op *op = synth_graph_op(graph, block->last);
	struct synth_exits exits = synth_exits_of(graph, block);
	bool leaves = (op->kind == OP_JUMP || op->kind == OP_BRANCH) && !exits.target;

	switch (op->kind) {
	case OP_BAD:
		return false;
	case OP_RETURN:
		note_return(group, state);
		return synth_state_is_balanced(state) && op->nr_bytes == 0;
	case OP_JUMP_REGISTER:
	case OP_JUMP_MEMORY:
		if (!exits.edges)
			group->clobbers |= abi_clobbers;
		/* A jump by register may stay within the function: it proves nothing. */
		if (op->kind == OP_JUMP_MEMORY && !exits.edges && synth_state_is_entry(state))
			group->returns = true;
		return true;
	case OP_CALL:
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
	case OP_END:
		return true;
	default:
		break;
	}
	if (leaves ||
	    (exits.target && is_tail_call(graph, &graph->blocks[exits.target - 1], state))) {
		group->clobbers |= abi_clobbers;
		group->returns |= synth_state_is_entry(state);
	}
	if (leaves && !may_leave(graph, (uint64_t)op->imm, state))
		return false;
	return op->kind == OP_JUMP || exits.next ||
	       may_leave(graph, synth_graph_vaddr(graph, block->last) + op->size, after);
}

/* The state before the last instruction of @block. */
static struct synth_state before_last(struct flow *flow, const struct synth_block *block)
{
	const struct synth_graph *graph = flow->graph;
	struct synth_state state = flow->states[block->state];

	for (uint32_t pos = block->pos; pos != block->last; pos = synth_graph_next(graph, pos)) {
		const struct synth_op *op = synth_graph_op(graph, pos);

		if (!synth_state_stays(&state, op))
			synth_state_step(&state, op, pos, call_clobbers(flow, op, pos));
	}
	return state;
}

static bool leads_to_bad(const struct flow *flow, const struct synth_block *block)
{
	const struct synth_block *blocks = flow->graph->blocks;
	struct synth_exits exits = synth_exits_of(flow->graph, block);
	bool comes_back = !exits.after_call || !block->no_return;

	/* The targets of a jump by register are partly guesses: tables are read too far. */
	return (exits.next && comes_back && blocks[exits.next - 1].reason) ||
	       (exits.target && blocks[exits.target - 1].reason);
}

/* Find the blocks from which a path ends in nonsense. */
static void judge(struct flow *flow, struct group *group)
{
	bool more = true, some = false;

	for (uint32_t i = 0; i < group->nr; i++) {
		struct synth_block *block = block_of_group(flow, group, i);

		if (!block->reached)
			continue;

		struct synth_state state = before_last(flow, block), after = state;
		const struct synth_op *op = synth_graph_op(flow->graph, block->last);

		synth_state_step(&after, op, block->last, call_clobbers(flow, op, block->last));
		if (!ends_well(flow, group, block, &state, &after))
			block->reason = SYNTH_REASON_BAD_END;
		group->bad |= block->reason && block->belief == BELIEF_SURE;
		some |= block->reason != SYNTH_REASON_NONE;
	}
	for (uint32_t round = 0; more && some; round++) {
		more = false;
		for (uint32_t i = group->nr; i-- > 0;) {
			struct synth_block *block = block_of_group(flow, group, i);

			if (block->reason || !block->reached ||
			    (!leads_to_bad(flow, block) && round < STEPS_PER_OP))
				continue;
			block->reason = SYNTH_REASON_BAD_END;
			more = true;
		}
	}
}

/* The reason why no instruction of the group gets a row. */
static enum synth_reason group_reason(const struct group *group)
{
	if (group->endless)
		return SYNTH_REASON_BAD_END;
	if (group->known || (!group->bad && (group->returns || group->taken)))
		return SYNTH_REASON_NONE;
	return SYNTH_REASON_GUESS;
}

static int note_call(struct flow *flow, uint32_t group, const struct synth_op *op,
		     const struct cfi_row *row)
{
	uint32_t callee = callee_of(flow, op);

	if (!callee)
		return 0;
	flow->rows->needed[callee - 1] |= synth_row_reads(row);

	int code = budget_grow(flow->graph->budget, &flow->edges, &flow->room_edges, flow->nr_edges,
			       sizeof(*flow->edges), flow->err);

	if (code == 0)
		flow->edges[flow->nr_edges++] = (struct call){ group, callee - 1 };
	return code;
}

static bool same_rule(const struct synth_row *a, const struct synth_row *b)
{
	enum { RULE = offsetof(struct synth_row, group) };

	return memcmp((const char *)a + RULE, (const char *)b + RULE, sizeof(*a) - RULE) == 0;
}

static int row_add(struct flow *flow, uint32_t pos, const struct synth_op *op, uint32_t group,
		   const struct synth_state *state, const struct cfi_row *row)
{
	struct synth_rows *rows = flow->rows;
	struct synth_row *last = rows->nr ? &rows->list[rows->nr - 1] : NULL;
	struct synth_row fresh;

	memset(&fresh, 0, sizeof(fresh)); /* compared as bytes */
	fresh.pos = pos;
	fresh.end = pos + op->size;
	fresh.group = group;
	fresh.initial = synth_state_initial(state) & abi_clobbers;
	fresh.guess = flow->groups[group].guessed;
	fresh.cfa = row->cfa;
	fresh.cfa_reg = row->cfa_reg;
	fresh.cfa_off = (int32_t)row->cfa_off;
	fresh.cfa_off2 = (int32_t)row->cfa_off2;
	for (unsigned i = 0; i < FPL_NR_SAVED; i++) {
		const struct cfi_reg *reg = &row->reg[arch_saved_regs[i]];

		fresh.saved[i].kind = reg->kind;
		fresh.saved[i].reg = reg->reg;
		fresh.saved[i].off = (int32_t)reg->off;
	}
	if (last && last->end == pos && same_rule(last, &fresh)) {
		last->end = fresh.end;
		return 0;
	}

	int code = budget_grow(flow->graph->budget, &rows->list, &rows->room, rows->nr,
			       sizeof(*rows->list), flow->err);

	if (code == 0)
		rows->list[rows->nr++] = fresh;
	return code;
}

/* May a block get rows although a path from it ends in nonsense? */
static bool is_early(const struct flow *flow, const struct synth_block *block,
		     const struct synth_op *op, const struct synth_state *state)
{
	return flow->groups[block->group].known && block->reason == SYNTH_REASON_BAD_END &&
	       op->kind != OP_BAD && synth_state_is_early(state);
}

/* Make the rows of @block. */
static int write_block(struct flow *flow, const struct synth_block *block, enum synth_reason reason)
{
	const struct synth_graph *graph = flow->graph;
	const struct synth_input *input = graph->input;
	struct synth_state state = flow->states[block->state];
	bool is_new = true;   /* @row is not yet that of @state, */
	bool has_row = false; /* which has one, */
	bool goes_on = false; /* and the instruction before got it */
	struct cfi_row row;
	int code = 0;

	for (uint32_t pos = block->pos; code == 0; pos = synth_graph_next(graph, pos)) {
		const struct synth_op *op = synth_graph_op(graph, pos);
		uint8_t *told = &graph->reasons[graph->index[pos] - 1];
		enum synth_reason why = reason ? reason : block->reason;

		if (is_new) {
			row = (struct cfi_row){ 0 };
			has_row = synth_state_row(&state, &row);
		}
		if (!reason && has_row && is_early(flow, block, op, &state))
			why = SYNTH_REASON_NONE;
		if (!why && !has_row)
			why = SYNTH_REASON_NO_CFA;
		if (!why && *told == SYNTH_REASON_OVERLAP)
			why = SYNTH_REASON_OVERLAP;
		*told = (uint8_t)why;
		graph->fp_refuted[graph->index[pos] - 1] = why &&
							   !flow->groups[block->group].endless &&
							   synth_state_refutes_fp(&state);
		if (!why && goes_on && !is_new)
			flow->rows->list[flow->rows->nr - 1].end = pos + op->size;
		else if (!why)
			code = row_add(flow, pos, op, block->group, &state, &row);
		goes_on = !why;
		if (!why && code == 0)
			code = note_call(flow, block->group, op, &row);
		if (input->visit)
			input->visit(input->ctx, synth_graph_vaddr(graph, pos), op->size, &state,
				     why);
		if (pos == block->last)
			break;
		is_new = !synth_state_stays(&state, op);
		if (is_new)
			synth_state_step(&state, op, pos, call_clobbers(flow, op, pos));
	}
	return code;
}

static int work_group(struct flow *flow, uint32_t number)
{
	struct group *group = &flow->groups[number];
	int code = states_room(flow, group->nr);

	if (code == 0)
		code = settle(flow, group);
	if (code)
		return code;
	judge(flow, group);
	if (!group->returns && !group->clobbers)
		group->clobbers = abi_clobbers;
	for (uint32_t i = 0; i < group->nr && code == 0; i++) {
		const struct synth_block *block = block_of_group(flow, group, i);

		if (block->reached)
			code = write_block(flow, block, group_reason(group));
	}
	group->progress = GROUP_DONE;
	return code;
}

/* Work on a group after the groups that it calls: their effects are known then. */
static int visit_group(struct flow *flow, uint32_t number, unsigned depth)
{
	struct group *group = &flow->groups[number];

	group->progress = GROUP_BEGUN;
	for (uint32_t i = 0; i < group->nr && depth < CALL_DEPTH_MAX; i++) {
		const struct synth_block *block = block_of_group(flow, group, i);
		uint32_t callee = callee_of(flow, synth_graph_op(flow->graph, block->last));

		if (!callee || flow->groups[callee - 1].progress != GROUP_NEW)
			continue;

		int code = visit_group(flow, callee - 1, depth + 1);

		if (code)
			return code;
	}
	return work_group(flow, number);
}

/* Registers that a callee must keep for its caller, its own callees must keep, too. */
static void spread_needs(struct flow *flow)
{
	uint16_t *needed = flow->rows->needed;
	bool more = true;

	for (unsigned round = 0; more && round < NEED_ROUNDS; round++) {
		more = false;
		for (size_t i = 0; i < flow->nr_edges; i++) {
			const struct call *call = &flow->edges[i];

			more |= (needed[call->from] & ~needed[call->to]) != 0;
			needed[call->to] |= needed[call->from];
		}
	}
}

static int find_entries(struct flow *flow)
{
	const struct synth_graph *graph = flow->graph;
	size_t nr = 0;

	for (size_t i = 0; i < graph->nr_blocks; i++)
		nr += (graph->bytes[graph->blocks[i].pos] & BYTE_ENTRIES) != 0;

	int code = budget_memory(graph->budget, nr * sizeof(*flow->entries), flow->err);

	if (code)
		return code;
	flow->entries = calloc(nr + 1, sizeof(*flow->entries));
	if (!flow->entries)
		return fpl_fail(flow->err, -ENOMEM, "%s: out of memory", graph->budget->name);
	for (size_t i = 0; i < graph->nr_blocks; i++)
		if (graph->bytes[graph->blocks[i].pos] & BYTE_ENTRIES)
			flow->entries[flow->nr_entries++] = graph->blocks[i].pos;
	return 0;
}

static void cleanup_flow(struct flow *flow)
{
	free(flow->groups);
	free(flow->order);
	free(flow->states);
	free(flow->queue.numbers);
	free(flow->calls.numbers);
	free(flow->jumps.numbers);
	free(flow->far.numbers);
	free(flow->entries);
	free(flow->edges);
	synth_reach_destroy(flow->reach);
}

int synth_flow(struct synth_graph *graph, struct synth_rows *rows, struct fpl_err *err)
{
	CLEANUP(cleanup_flow) struct flow flow = { .graph = graph, .rows = rows, .err = err };
	int code = synth_ends_find(graph, err);

	if (code == 0)
		code = number_groups(&flow);
	if (code == 0)
		code = find_entries(&flow);
	if (code == 0)
		code = synth_reach_create(graph, &flow.reach, err);

	for (uint32_t i = 0; i < flow.nr_groups && code == 0; i++)
		if (flow.groups[i].progress == GROUP_NEW)
			code = visit_group(&flow, i, 0);
	if (code == 0)
		spread_needs(&flow);
	return code;
}
