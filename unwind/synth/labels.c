/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels in registers: hand-written transforms pass the address of their next step on in a
 * register, through jumps and local calls. Each label is followed alone, from the instruction that
 * takes its address: a fact is that it may be in a place, before an instruction. A call is entered
 * once for each place; a return from there returns to all callers with that place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/arch_x86_64.h"
#include "unwind/synth/explore.h"
#include "unwind/zeroed.h"

enum { WORD = 8, SEEN_LOG2 = 13, SEEN_MAX = 1 << SEEN_LOG2, STEPS_PER_OP = 32 };
enum { STEPS_MIN = 1 << 20, CONTEXTS_MAX = 256, CALLERS_MAX = 4096, CHECK_EVERY = 64 };

/* Place of the label: a register, by its number, or a word of the stack, by its distance from the
 * stack pointer. */
struct place {
	int32_t off; /* stack: at least 0 */
	uint8_t reg; /* ON_STACK: the other */
	bool known;
};
enum { ON_STACK = FPL_NR_REGS };

struct fact {
	uint32_t pos, context;
	struct place place;
};

/* A function called while the label was in @place. */
struct context {
	uint32_t entry;
	struct place place;
	uint16_t returned; /* mask of registers that it comes back in */
};

struct caller {
	uint32_t context, from, pos; /* @context was called by @from, which goes on at @pos */
};

/* Instructions from one on that end no block. */
struct run {
	uint32_t end;	/* position of the first instruction that ends a run, or begins one; 0: not
			   known yet */
	uint16_t named; /* mask of registers that they read or write */
	uint32_t trace; /* number of the last trace that crossed its first instruction, a jump */
};

struct synth_tracer {
	struct synth_explorer *explorer;
	struct synth_graph *graph;
	uint32_t label;
	uint32_t trace;	    /* labels that were followed so far, this one included */
	struct fact *facts; /* owned [nr_facts]: to follow */
	size_t nr_facts, room_facts;
	struct context contexts[CONTEXTS_MAX];
	size_t nr_contexts;
	struct caller callers[CALLERS_MAX];
	size_t nr_callers;
	struct fact seen[SEEN_MAX]; /* by hash; pos 0: free */
	uint16_t slots[SEEN_MAX];   /* [nr_seen]: of them, those in use */
	size_t nr_seen;
	struct run *runs; /* owned [nr_runs], by number of its first instruction */
	size_t nr_runs, room_runs;
	/* instructions, and what searches looked at: the code decides how long these take */
	uint64_t steps, steps_max;
	uint64_t probes; /* of steps: entries of the table of facts that were others' */
	struct synth_crossing *crossings; /* owned [nr_crossings]: of the label */
	size_t nr_crossings, room_crossings;
	bool is_cut_off; /* it came to where no code is decoded */
};

static bool same_place(struct place a, struct place b)
{
	return a.reg == b.reg && a.off == b.off;
}

static struct place in_register(unsigned reg)
{
	return (struct place){ .reg = (uint8_t)reg, .known = true };
}

/* Above the stack pointer, or nowhere. */
static struct place on_stack(int64_t off)
{
	if (off < 0 || off > INT32_MAX)
		return (struct place){ 0 };
	return (struct place){ .reg = ON_STACK, .off = (int32_t)off, .known = true };
}

static int fact_add(struct synth_tracer *tracer, uint32_t pos, uint32_t context, struct place place)
{
	if (!pos || !place.known)
		return 0;

	int code = budget_grow(tracer->graph->budget, &tracer->facts, &tracer->room_facts,
			       tracer->nr_facts, sizeof(*tracer->facts), tracer->explorer->err);

	if (code == 0)
		tracer->facts[tracer->nr_facts++] = (struct fact){ pos, context, place };
	return code;
}

/* Facts that differ in one word alone, as those of a loop that pushes, are spread, too. */
static uint32_t hash_of(const struct fact *fact)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t hash = ((uint64_t)fact->pos << 32 | (uint32_t)fact->place.off) * factor;

	hash = (hash ^ (fact->context << 8 | fact->place.reg)) * factor;
	return (uint32_t)(hash >> (64 - SEEN_LOG2));
}

/* Was @fact followed before? Out of memory, the answer is yes. */
static bool was_seen(struct synth_tracer *tracer, const struct fact *fact)
{
	if (tracer->nr_seen > SEEN_MAX / 2)
		return true;
	for (uint32_t i = hash_of(fact);; i = (i + 1) % SEEN_MAX) {
		struct fact *there = &tracer->seen[i];

		if (!there->pos) {
			*there = *fact;
			tracer->slots[tracer->nr_seen++] = (uint16_t)i;
			return false;
		}
		if (there->pos == fact->pos && there->context == fact->context &&
		    same_place(there->place, fact->place))
			return true;
		tracer->steps++;
		tracer->probes++;
	}
}

/* The change of the stack pointer by @op. *ret_known: false if unknown. */
static int64_t stack_growth(const struct synth_op *op, bool *ret_known)
{
	*ret_known = true;
	switch (op->kind) {
	case OP_PUSH:
	case OP_PUSH_OTHER:
		return -WORD;
	case OP_POP:
		*ret_known = op->dst != ARCH_SP;
		return WORD;
	case OP_POP_OTHER:
		return WORD;
	case OP_ADD:
		return op->dst == ARCH_SP ? op->imm : 0;
	case OP_LEA:
		*ret_known = op->dst != ARCH_SP || op->src == ARCH_SP;
		return op->dst == ARCH_SP ? op->imm : 0;
	default:
		*ret_known = op->kind != OP_LEAVE && !(op->clobbers >> ARCH_SP & 1) &&
			     !(synth_writes_dst(op->kind) && op->dst == ARCH_SP);
		return 0;
	}
}

/* The place of the label after @op, which is no jump and no call, if it was in @place. */
static struct place keep(struct place place, const struct synth_op *op)
{
	bool known;
	int64_t growth = stack_growth(op, &known), off = (int64_t)place.off - growth;
	bool stores = op->kind == OP_STORE || op->kind == OP_STORE_OTHER;

	if (place.reg != ON_STACK) {
		bool written = (synth_writes_dst(op->kind) && op->dst == place.reg) ||
			       (op->kind == OP_SWAP && op->src == place.reg) ||
			       (op->clobbers >> place.reg & 1);

		return written ? (struct place){ 0 } : place;
	}
	if (!known || (stores && op->dst == ARCH_SP && op->imm < (int64_t)place.off + WORD &&
		       place.off < op->imm + op->nr_bytes))
		return (struct place){ 0 };
	return on_stack(off);
}

/* A second place that @op copies the label in @place to. */
static struct place copy(struct place place, const struct synth_op *op)
{
	bool in_src = op->src == place.reg, in_dst = op->dst == place.reg;

	switch (op->kind) {
	case OP_MOVE:
		return in_src ? in_register(op->dst) : (struct place){ 0 };
	case OP_LEA:
		return in_src && op->imm == 0 ? in_register(op->dst) : (struct place){ 0 };
	case OP_SWAP:
		return in_src	? in_register(op->dst)
		       : in_dst ? in_register(op->src)
				: (struct place){ 0 };
	case OP_PUSH:
		return in_src ? on_stack(0) : (struct place){ 0 };
	case OP_STORE:
		return in_src && op->dst == ARCH_SP ? on_stack(op->imm) : (struct place){ 0 };
	case OP_LOAD:
		return place.reg == ON_STACK && op->src == ARCH_SP && op->imm == place.off
			       ? in_register(op->dst)
			       : (struct place){ 0 };
	case OP_POP:
		return place.reg == ON_STACK && place.off == 0 ? in_register(op->dst)
							       : (struct place){ 0 };
	default:
		return (struct place){ 0 };
	}
}

/* The function at @entry is called with @fact, and returns to @next. */
static int enter(struct synth_tracer *tracer, const struct fact *fact, uint32_t entry,
		 uint32_t next)
{
	size_t i = 1;
	int code = 0;

	while (i < tracer->nr_contexts && !(tracer->contexts[i].entry == entry &&
					    same_place(tracer->contexts[i].place, fact->place)))
		i++;
	tracer->steps += i;
	if (i == CONTEXTS_MAX || tracer->nr_callers == CALLERS_MAX)
		return 0;
	if (i == tracer->nr_contexts) {
		tracer->contexts[tracer->nr_contexts++] =
			(struct context){ .entry = entry, .place = fact->place };
		code = fact_add(tracer, entry, (uint32_t)i, fact->place);
	}
	tracer->callers[tracer->nr_callers++] = (struct caller){ (uint32_t)i, fact->context, next };
	for (unsigned reg = 0; reg < FPL_NR_REGS && code == 0; reg++)
		if (tracer->contexts[i].returned >> reg & 1)
			code = fact_add(tracer, next, fact->context, in_register(reg));
	return code;
}

static int come_back(struct synth_tracer *tracer, const struct fact *fact)
{
	struct context *context = &tracer->contexts[fact->context];
	int code = 0;

	if (fact->place.reg == ON_STACK || (context->returned >> fact->place.reg & 1))
		return 0;
	context->returned |= (uint16_t)(1u << fact->place.reg);
	tracer->steps += tracer->nr_callers;
	for (size_t i = 0; i < tracer->nr_callers && code == 0; i++) {
		const struct caller *caller = &tracer->callers[i];

		if (caller->context == fact->context)
			code = fact_add(tracer, caller->pos, caller->from, fact->place);
	}
	return code;
}

/* The call @op at @fact: of code in holes, or other code. */
static int call(struct synth_tracer *tracer, const struct fact *fact, const struct synth_op *op)
{
	struct synth_graph *graph = tracer->graph;
	uint32_t next = synth_graph_next(graph, fact->pos);
	uint32_t callee = op->kind == OP_CALL ? synth_graph_pos(graph, (uint64_t)op->imm) : 0;
	const struct synth_edge *edge = synth_graph_edges(graph, fact->pos);
	bool on_a_stack = fact->place.reg == ON_STACK;
	int code = 0;

	if (on_a_stack || (!callee && !edge))
		return on_a_stack || (ARCH_CALLEE_SAVED >> fact->place.reg & 1)
			       ? fact_add(tracer, next, fact->context, fact->place)
			       : 0;
	if (callee)
		return enter(tracer, fact, callee, next);
	for (; edge && code == 0; edge = synth_graph_edge_after(graph, edge))
		code = enter(tracer, fact, edge->to, next);
	return code;
}

/* The label is in the register by which the instruction at @fact jumps or calls. */
static int link_label(struct synth_tracer *tracer, const struct fact *fact,
		      const struct synth_op *op)
{
	struct synth_graph *graph = tracer->graph;
	const struct synth_edge *edge = synth_graph_edges(graph, fact->pos);

	while (edge && edge->to != tracer->label)
		edge = synth_graph_edge_after(graph, edge);
	if (edge || (graph->bytes[tracer->label] & BYTE_INSIDE))
		return 0;
	if (op->kind == OP_CALL_REGISTER)
		graph->bytes[tracer->label] |= BYTE_ADDRESS;
	return synth_edge_add(tracer->explorer, fact->pos, tracer->label, NULL);
}

static int jump_on(struct synth_tracer *tracer, const struct fact *fact)
{
	const struct synth_edge *edge = synth_graph_edges(tracer->graph, fact->pos);
	int code = 0;

	for (; edge && code == 0; edge = synth_graph_edge_after(tracer->graph, edge))
		code = fact_add(tracer, edge->to, fact->context, fact->place);
	return code;
}

/* Follow @fact past its instruction. *ret_on: it holds before the next one, too. */
static int step(struct synth_tracer *tracer, struct fact *fact, const struct synth_op *op,
		bool *ret_on)
{
	struct synth_graph *graph = tracer->graph;
	uint32_t target;
	int code = 0;

	*ret_on = false;
	switch (op->kind) {
	case OP_JUMP:
	case OP_BRANCH:
		target = synth_graph_pos(graph, (uint64_t)op->imm);
		*ret_on = op->kind == OP_BRANCH;
		return fact_add(tracer, target, fact->context, fact->place);
	case OP_JUMP_MEMORY:
		return jump_on(tracer, fact);
	case OP_JUMP_REGISTER:
	case OP_CALL_REGISTER:
		if (fact->place.reg == op->dst)
			code = link_label(tracer, fact, op);
		if (code)
			return code;
		return op->kind == OP_JUMP_REGISTER ? jump_on(tracer, fact)
						    : call(tracer, fact, op);
	case OP_CALL:
	case OP_CALL_ANY:
		return call(tracer, fact, op);
	case OP_RETURN:
		return come_back(tracer, fact);
	case OP_END:
	case OP_BAD:
		return 0;
	default:
		break;
	}

	struct place copied = copy(fact->place, op);

	if (copied.known)
		code = fact_add(tracer, synth_graph_next(graph, fact->pos), fact->context, copied);
	fact->place = keep(fact->place, op);
	*ret_on = fact->place.known;
	return code;
}

static const struct run *run_at(struct synth_tracer *tracer, uint32_t pos)
{
	struct synth_graph *graph = tracer->graph;
	struct run *run = &tracer->runs[graph->index[pos] - 1];
	const struct synth_op *op = synth_graph_op(graph, pos);

	if (run->end)
		return run;
	run->end = pos;
	while (op && op->kind < OP_CALL) {
		uint32_t next = synth_graph_next(graph, run->end);

		run->named |= (uint16_t)(op->clobbers | 1u << op->dst | 1u << op->src);
		if (!next)
			break;
		run->end = next;
		op = synth_graph_op(graph, next);
		if (graph->bytes[next] & BYTE_LEADER)
			break;
	}
	return run;
}

/* Do the next instructions leave @fact alone? Then move it behind them. */
static bool skip(struct synth_tracer *tracer, struct fact *fact)
{
	const struct run *run = run_at(tracer, fact->pos);

	if (fact->place.reg == ON_STACK || run->end == fact->pos ||
	    (run->named >> fact->place.reg & 1))
		return false;
	fact->pos = run->end;
	return true;
}

static uint32_t count_edges(const struct synth_graph *graph, uint32_t pos)
{
	const struct synth_edge *edge = synth_graph_edges(graph, pos);
	uint32_t nr = 0;

	for (; edge; edge = synth_graph_edge_after(graph, edge))
		nr++;
	return nr;
}

/* The label reached the jump or call by register at @pos, which may lead further than known. */
static int cross(struct synth_tracer *tracer, uint32_t pos)
{
	struct run *run = &tracer->runs[tracer->graph->index[pos] - 1];
	int code;

	if (run->trace == tracer->trace)
		return 0;
	run->trace = tracer->trace;
	code = budget_grow(tracer->graph->budget, &tracer->crossings, &tracer->room_crossings,
			   tracer->nr_crossings, sizeof(*tracer->crossings), tracer->explorer->err);
	if (code == 0)
		tracer->crossings[tracer->nr_crossings++] =
			(struct synth_crossing){ pos, count_edges(tracer->graph, pos) };
	return code;
}

static int follow(struct synth_tracer *tracer, struct fact fact)
{
	struct synth_graph *graph = tracer->graph;
	bool on = true;
	int code = 0;

	while (on && fact.pos && code == 0 && tracer->steps < tracer->steps_max) {
		const struct synth_op *op = synth_graph_op(graph, fact.pos);
		bool leads = graph->bytes[fact.pos] & BYTE_LEADER;

		tracer->is_cut_off |= !op;
		if (!op || (leads && was_seen(tracer, &fact)))
			break;
		if (op->kind == OP_JUMP_REGISTER || op->kind == OP_CALL_REGISTER ||
		    op->kind == OP_JUMP_MEMORY)
			code = cross(tracer, fact.pos);
		if (code)
			break;
		tracer->steps++;
		if (leads && skip(tracer, &fact))
			continue;
		code = step(tracer, &fact, op, &on);
		fact.pos = on ? synth_graph_next(graph, fact.pos) : 0;
	}
	return code;
}

static int trace(struct synth_tracer *tracer, const struct synth_label *label)
{
	int code;

	tracer->label = label->pos;
	tracer->nr_crossings = 0;
	tracer->is_cut_off = false;
	tracer->nr_contexts =
		1; /* context of the code that takes the address, whose callers are unknown */
	tracer->nr_callers = 0;
	while (tracer->nr_seen)
		tracer->seen[tracer->slots[--tracer->nr_seen]].pos = 0;
	memset(&tracer->contexts[0], 0, sizeof(tracer->contexts[0]));
	code = fact_add(tracer, synth_graph_next(tracer->graph, label->at), 0,
			in_register(label->reg));
	while (code == 0 && tracer->nr_facts) {
		struct fact fact = tracer->facts[--tracer->nr_facts];

		code = follow(tracer, fact);
	}
	return code;
}

/* Keep the crossings of @label, in the place of its previous ones if they fit. */
static int keep_crossings(struct synth_tracer *tracer, struct synth_label *label)
{
	struct synth_explorer *explorer = tracer->explorer;
	size_t nr = tracer->nr_crossings;
	int code = 0;

	if (nr > label->room_crossings) {
		label->first_crossing = explorer->nr_crossings;
		label->room_crossings = nr;
	}
	label->nr_crossings = nr;
	for (size_t i = 0; i < nr && code == 0; i++) {
		size_t at = label->first_crossing + i;

		if (at == explorer->nr_crossings)
			code = budget_grow(explorer->graph->budget, &explorer->crossings,
					   &explorer->room_crossings, explorer->nr_crossings++,
					   sizeof(*explorer->crossings), explorer->err);
		if (code == 0)
			explorer->crossings[at] = tracer->crossings[i];
	}
	return code;
}

/* Would following @label again find nothing new? */
static bool is_done(const struct synth_explorer *explorer, const struct synth_label *label)
{
	if (!label->is_traced || label->is_cut_off)
		return false;
	for (size_t i = 0; i < label->nr_crossings; i++) {
		const struct synth_crossing *crossing =
			&explorer->crossings[label->first_crossing + i];

		if (count_edges(explorer->graph, crossing->pos) != crossing->nr_edges)
			return false;
	}
	return true;
}

static int trace_anew(struct synth_tracer *tracer, struct synth_label *label)
{
	int code;

	tracer->trace++;
	code = trace(tracer, label);
	label->is_traced = true;
	label->is_cut_off = tracer->is_cut_off || tracer->steps >= tracer->steps_max;
	return code ? code : keep_crossings(tracer, label);
}

void synth_tracer_destroy(struct synth_tracer *tracer)
{
	if (tracer) {
		free(tracer->crossings);
		free(tracer->facts);
		free(tracer->runs);
	}
	zeroed_free(tracer, sizeof(*tracer));
}

/* Runs stay valid while code is added, though they could be longer. */
static int runs_room(struct synth_tracer *tracer)
{
	int code = 0;

	while (tracer->room_runs < tracer->graph->nr_ops && code == 0)
		code = budget_grow(tracer->graph->budget, &tracer->runs, &tracer->room_runs,
				   tracer->room_runs, sizeof(*tracer->runs), tracer->explorer->err);
	if (code == 0 && tracer->nr_runs < tracer->graph->nr_ops) {
		memset(tracer->runs + tracer->nr_runs, 0,
		       (tracer->graph->nr_ops - tracer->nr_runs) * sizeof(*tracer->runs));
		tracer->nr_runs = tracer->graph->nr_ops;
	}
	return code;
}

int synth_labels_link(struct synth_explorer *explorer)
{
	struct synth_graph *graph = explorer->graph;
	struct synth_tracer *tracer = explorer->tracer;
	int code;

	if (!tracer)
		tracer = explorer->tracer = zeroed_alloc(sizeof(*tracer)); /* most is not used */
	if (!tracer)
		return fpl_fail(explorer->err, -ENOMEM, "%s: out of memory", graph->budget->name);
	tracer->explorer = explorer;
	tracer->graph = graph;
	tracer->steps = 0;
	tracer->probes = 0;
	tracer->steps_max = STEPS_MIN + STEPS_PER_OP * (uint64_t)graph->nr_ops;
	code = runs_room(tracer);
	for (size_t i = 0; i < explorer->nr_labels && code == 0; i++) {
		if (!is_done(explorer, &explorer->labels[i]))
			code = trace_anew(tracer, &explorer->labels[i]);
		if (code == 0 && i % CHECK_EVERY == 0)
			code = budget_check(graph->budget, explorer->err);
	}
	graph->label_probes += tracer->probes;
	return code;
}
