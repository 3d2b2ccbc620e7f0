/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/explore.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/filler.h"

enum { TABLE_MAX = 1024, SHORT_TABLE_MAX = 64, UNUSED_MAX = 16, CHECK_EVERY = 4096 };

/* Instructions checked before an entry of a table is believed. */
enum { PROBE_MAX = 32 };

enum { INSTRUCTION_MAX = 15, DOUBTFUL_MAX = 3, OVERLAP_MAX = 64, OWNERS_MAX = 4096 };

enum { LEA_BYTES = 7 }; /* lea of an address relative to rip */

enum { FUNCTION_ALIGN = 16 };

/*
 * Limits: bytes between a jump and the instruction that takes its target's address; labels, and
 * rounds.
 */
enum { LABEL_REACH = 4096, LABELS_MAX = 4096, LABEL_ROUNDS = 8 };

static int lead_add(struct synth_explorer *explorer, uint32_t pos, const struct synth_known *known)
{
	int code = budget_grow(explorer->graph->budget, &explorer->leads, &explorer->room_leads,
			       explorer->nr_leads, sizeof(*explorer->leads), explorer->err);

	if (code)
		return code;

	struct synth_lead *lead = &explorer->leads[explorer->nr_leads++];

	*lead = (struct synth_lead){ .pos = pos };
	if (known)
		memcpy(lead->known, known, sizeof(lead->known));
	return 0;
}

/* @op, at @at, takes an address. */
static int label_add(struct synth_explorer *explorer, uint32_t at, const struct synth_op *op)
{
	struct synth_graph *graph = explorer->graph;
	uint32_t pos = synth_graph_pos(graph, (uint64_t)op->imm);
	int code;

	if (!pos || synth_graph_hole(graph, pos) != synth_graph_hole(graph, at) ||
	    explorer->nr_labels == LABELS_MAX)
		return 0;
	code = budget_grow(graph->budget, &explorer->labels, &explorer->room_labels,
			   explorer->nr_labels, sizeof(*explorer->labels), explorer->err);
	if (code == 0)
		explorer->labels[explorer->nr_labels++] =
			(struct synth_label){ .at = at, .pos = pos, .reg = op->dst };
	return code;
}

static int table_add(struct synth_explorer *explorer, uint64_t vaddr)
{
	int code = budget_grow(explorer->graph->budget, &explorer->tables, &explorer->room_tables,
			       explorer->nr_tables, sizeof(*explorer->tables), explorer->err);

	if (code == 0)
		explorer->tables[explorer->nr_tables++] = vaddr;
	return code;
}

static int op_add(struct synth_graph *graph, const struct synth_op *op, uint32_t pos,
		  struct fpl_err *err)
{
	int code = budget_grow(graph->budget, &graph->ops, &graph->room_ops, graph->nr_ops,
			       sizeof(*graph->ops), err);

	if (code)
		return code;
	graph->ops[graph->nr_ops++] = *op;
	graph->index[pos] = (uint32_t)graph->nr_ops;
	graph->bytes[pos] |= BYTE_START;
	graph->has_overlaps |= graph->bytes[pos] & BYTE_INSIDE;
	for (uint32_t i = 1; i < op->size && pos + i <= graph->nr_bytes; i++) {
		graph->has_overlaps |= graph->bytes[pos + i] & BYTE_START;
		graph->bytes[pos + i] |= BYTE_INSIDE;
	}
	return graph->nr_ops % CHECK_EVERY ? 0 : budget_check(graph->budget, err);
}

/* Code goes on at @pos with the facts known here; a block begins there. */
static int lead_to(struct synth_explorer *explorer, uint32_t pos, const struct synth_known *known)
{
	explorer->graph->bytes[pos] |= BYTE_LEADER;
	return explorer->graph->index[pos] ? 0 : lead_add(explorer, pos, known);
}

static int call_to(struct synth_explorer *explorer, uint64_t vaddr)
{
	struct synth_graph *graph = explorer->graph;
	uint32_t pos = synth_graph_pos(graph, vaddr);

	if (pos == 0)
		return 0;
	graph->bytes[pos] |= BYTE_ENTRY;
	return lead_to(explorer, pos, NULL);
}

static int open_add(struct synth_explorer *explorer, uint32_t pos, unsigned reg)
{
	int code;

	if (explorer->nr_open == LABELS_MAX)
		return 0;
	code = budget_grow(explorer->graph->budget, &explorer->open, &explorer->room_open,
			   explorer->nr_open, sizeof(*explorer->open), explorer->err);
	if (code == 0)
		explorer->open[explorer->nr_open++] = (struct synth_open_jump){ pos, reg, false };
	return code;
}

/* The jump or call at @pos leads to the place in @target. */
static int by_table(struct synth_explorer *explorer, uint32_t pos, const struct synth_known *known,
		    const struct synth_known *target)
{
	int code = budget_grow(explorer->graph->budget, &explorer->pending, &explorer->room_pending,
			       explorer->nr_pending, sizeof(*explorer->pending), explorer->err);

	if (code)
		return code;

	struct synth_table_jump *jump = &explorer->pending[explorer->nr_pending++];

	*jump = (struct synth_table_jump){ .pos = pos, .target = *target };
	memcpy(jump->known, known, sizeof(jump->known));
	return 0;
}

/* The jump or call at @pos leads to the place in @reg. */
static int by_register(struct synth_explorer *explorer, uint32_t pos,
		       const struct synth_known *known, unsigned reg)
{
	const struct synth_known *target = synth_known_of(known, reg);

	return target && target->kind == KNOWN_TARGET ? by_table(explorer, pos, known, target)
						      : open_add(explorer, pos, reg);
}

/* The jump @op at @pos leads to a table's entries, if the table is known. */
static int by_memory(struct synth_explorer *explorer, uint32_t pos, const struct synth_known *known,
		     const struct synth_op *op)
{
	const struct synth_known *base = synth_known_of(known, op->src);
	struct synth_known target = { .kind = KNOWN_TARGET, .width = 8 };

	if (op->nr_bytes != target.width || !base || base->kind != KNOWN_ADDRESS)
		return 0;
	target.table = base->table + (uint64_t)op->imm;
	return by_table(explorer, pos, known, &target);
}

/* Follow the instruction at @pos, which may end a block. *ret_on: the next instruction follows. */
static int follow(struct synth_explorer *explorer, uint32_t pos, const struct synth_op *op,
		  struct synth_known *known, bool *ret_on)
{
	struct synth_graph *graph = explorer->graph;
	uint32_t target = op->kind == OP_JUMP || op->kind == OP_BRANCH
				  ? synth_graph_pos(graph, (uint64_t)op->imm)
				  : 0;
	uint32_t next = synth_graph_next(graph, pos);
	int code = target ? lead_to(explorer, target, known) : 0;

	*ret_on = false;
	switch (op->kind) {
	case OP_CALL:
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
	case OP_BRANCH:
		if (op->kind == OP_CALL)
			code = call_to(explorer, (uint64_t)op->imm);
		if (op->kind == OP_CALL_REGISTER)
			code = by_register(explorer, pos, known, op->dst);
		if (next)
			graph->bytes[next] |= BYTE_LEADER;
		*ret_on = true;
		break;
	case OP_JUMP_REGISTER:
		code = by_register(explorer, pos, known, op->dst);
		break;
	case OP_JUMP_MEMORY:
		code = by_memory(explorer, pos, known, op);
		break;
	case OP_JUMP:
	case OP_RETURN:
	case OP_END:
	case OP_BAD:
		break;
	default:
		*ret_on = true;
	}
	return code;
}

/*
 * Registers whose facts about tables end at a call. Code that jumps by a register the ABI lets
 * functions change, behind a call of code beside it, relies on that code leaving it alone; results
 * are new in any case.
 */
static uint16_t call_writes(const struct synth_graph *graph, const struct synth_op *op)
{
	enum { RESULTS = 1 << 0 | 1 << 1 }; /* rax, rdx */

	return op->kind == OP_CALL && synth_graph_pos(graph, (uint64_t)op->imm)
		       ? RESULTS
		       : (uint16_t) ~(unsigned)ARCH_CALLEE_SAVED;
}

/* Decode from @lead on, until known code or the end. */
static int run(struct synth_explorer *explorer, struct synth_lead *lead)
{
	struct synth_graph *graph = explorer->graph;
	size_t hole = synth_graph_hole(graph, lead->pos);
	const struct synth_hole *code_bytes = &graph->input->holes[hole];
	uint32_t base = graph->bases[hole];
	uint32_t pos = lead->pos;
	bool on = true;

	while (on && pos) {
		uint32_t off = pos - base;
		struct synth_op op;
		uint64_t address = 0;

		if (graph->index[pos]) {
			graph->bytes[pos] |= BYTE_LEADER; /* paths meet */
			return 0;
		}
		synth_decode(graph->decoder, code_bytes->bytes + off, code_bytes->size - off,
			     code_bytes->start + off, &op);

		int code = op_add(graph, &op, pos, explorer->err);

		if (code == 0)
			code = follow(explorer, pos, &op, lead->known, &on);
		if (code == 0)
			synth_known_step(lead->known, &op, call_writes(graph, &op), &address);
		if (code == 0 && address)
			code = table_add(explorer, address);
		if (code == 0 && op.kind == OP_ADDRESS)
			code = label_add(explorer, pos, &op);
		if (code)
			return code;
		pos = synth_graph_next(graph, pos);
	}
	return 0;
}

/*
 * Note addresses that instructions take and that no lead has reached yet: a table ends where
 * another one begins. Their bytes alone tell, REX.W 8d and a form relative to rip: a false one only
 * makes a table shorter.
 */
static int find_addresses(struct synth_explorer *explorer)
{
	const struct synth_input *input = explorer->graph->input;
	int code = 0;

	for (size_t i = 0; i < input->nr_holes && code == 0; i++) {
		const struct synth_hole *hole = &input->holes[i];
		const uint8_t *bytes = hole->bytes;

		for (size_t at = 1; at + LEA_BYTES <= hole->size + 1 && code == 0; at++) {
			int32_t distance;

			if (bytes[at] != 0x8d || (bytes[at - 1] & 0xfb) != 0x48 ||
			    (bytes[at + 1] & 0xc7) != 0x05)
				continue;
			memcpy(&distance, bytes + at + 2, sizeof(distance));
			code = table_add(explorer, hole->start + at + LEA_BYTES - 1 +
							   (uint64_t)(int64_t)distance);
		}
	}
	return code;
}

static int by_address(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Bytes that a table at @table has room for, up to the next address that code takes. */
static uint64_t table_room(struct synth_explorer *explorer, uint64_t table)
{
	if (explorer->nr_tables_sorted != explorer->nr_tables)
		qsort(explorer->tables, explorer->nr_tables, sizeof(*explorer->tables), by_address);
	explorer->nr_tables_sorted = explorer->nr_tables;

	size_t above = SORTED_NUMBERS(explorer->tables, explorer->nr_tables, table);

	return above < explorer->nr_tables ? explorer->tables[above] - table : UINT64_MAX;
}

int synth_edge_add(struct synth_explorer *explorer, uint32_t from, uint32_t to,
		   const struct synth_known *known)
{
	struct synth_graph *graph = explorer->graph;
	int code = budget_grow(graph->budget, &graph->edges, &graph->room_edges, graph->nr_edges,
			       sizeof(*graph->edges), explorer->err);

	if (code)
		return code;
	graph->edges[graph->nr_edges++] = (struct synth_edge){ from, to, known != NULL };
	return lead_to(explorer, to, known);
}

/* May an instruction begin at @pos? Code from there must not run into the middle of one. */
static bool is_plausible(const struct synth_graph *graph, uint32_t pos)
{
	size_t number = synth_graph_hole(graph, pos);
	const struct synth_hole *hole = &graph->input->holes[number];

	for (unsigned i = 0; i < PROBE_MAX && pos < graph->bases[number + 1]; i++) {
		uint32_t off = pos - graph->bases[number];
		struct synth_op op;

		if (graph->index[pos])
			return true;
		if (graph->bytes[pos] & BYTE_INSIDE)
			return false;
		synth_decode(graph->decoder, hole->bytes + off, hole->size - off, hole->start + off,
			     &op);
		if (op.kind == OP_BAD)
			return false;
		if (op.kind >= OP_RETURN && op.kind != OP_BRANCH)
			return true;
		pos += op.size;
	}
	return true;
}

/* Read entry @i of @table: a distance, or an address. False: unreadable. */
static bool read_entry(const struct synth_input *input, const struct synth_known *table, size_t i,
		       int64_t *ret)
{
	uint64_t vaddr = table->table + i * table->width, word;
	int32_t distance = 0;

	if (table->width == sizeof(word)) {
		if (!input->word || !input->word(input->ctx, vaddr, &word))
			return false;
		*ret = (int64_t)word;
		return true;
	}
	if (!input->read(input->ctx, vaddr, &distance, table->width))
		return false;
	*ret = distance;
	return true;
}

/* Position that @entry leads to from @base; 0: outside @hole. */
static uint32_t entry_target(const struct synth_graph *graph, uint64_t base, int64_t entry,
			     size_t hole)
{
	uint32_t pos = synth_graph_pos(graph, base + (uint64_t)entry);

	/* A distance of 0 is one that is not used. */
	return entry && pos && synth_graph_hole(graph, pos) == hole && is_plausible(graph, pos)
		       ? pos
		       : 0;
}

/* Does code begin at @pos, and nothing before it run into it? */
static bool is_behind_end(const struct synth_graph *graph, uint32_t pos)
{
	const struct synth_hole *hole = &graph->input->holes[synth_graph_hole(graph, pos)];
	uint64_t off = synth_graph_vaddr(graph, pos) - hole->start;

	if (filler_size(hole->bytes + off, hole->size - off, FILLER_ZEROES))
		return false;
	for (uint32_t before = pos - 1; before && pos - before <= INSTRUCTION_MAX; before--) {
		const struct synth_op *op = synth_graph_op(graph, before);

		if (op)
			return before + op->size == pos && op->kind >= OP_RETURN &&
			       op->kind != OP_BRANCH;
	}
	return false;
}

/*
 * Hand-written code that counts the bits of a width leaves a table's first entries unused, and puts
 * the end of the previous table there. Is @entry, which leads to @pos from its own table, one of
 * the previous table? Then it leads, from that table's base, to a place that nothing else leads to.
 * *ret_pos: that place.
 */
static const struct synth_table_jump *real_owner(const struct synth_explorer *explorer,
						 const struct synth_known *table, int64_t entry,
						 size_t hole, uint32_t pos, uint32_t *ret_pos)
{
	const struct synth_graph *graph = explorer->graph;

	for (size_t i = 0; i < explorer->nr_read && i < OWNERS_MAX; i++) {
		const struct synth_table_jump *other = &explorer->read[i];

		if (other->target.table >= table->table ||
		    table->table - other->target.table > OVERLAP_MAX)
			continue;
		*ret_pos = entry_target(graph, other->target.base, entry, hole);
		if (*ret_pos && is_behind_end(graph, *ret_pos) && !is_behind_end(graph, pos))
			return other;
	}
	return NULL;
}

static int follow_leads(struct synth_explorer *explorer)
{
	int code = 0;

	while (code == 0 && explorer->nr_leads) {
		struct synth_lead lead = explorer->leads[--explorer->nr_leads];

		code = run(explorer, &lead);
	}
	return code;
}

/*
 * Read entries [first, max) of the table of @pending, until one does not lead into the hole of the
 * jump. Compilers check the index first; hand-written code, which counts bits, does not, and counts
 * from 1 or below 0. A short distance leads into most holes: each entry is followed before the next
 * is read.
 */
static int read_table(struct synth_explorer *explorer, const struct synth_table_jump *pending,
		      size_t first, size_t max)
{
	struct synth_graph *graph = explorer->graph;
	const struct synth_input *input = graph->input;
	const struct synth_known *table = &pending->target;
	static const struct synth_known none[SYNTH_KNOWN_MAX] = { { 0 } };
	bool is_short = table->width == 2, is_call;
	uint64_t room = table_room(explorer, table->table) / table->width;
	size_t hole = synth_graph_hole(graph, pending->pos);
	int code = budget_check(graph->budget, explorer->err);

	is_call = synth_graph_op(graph, pending->pos)->kind == OP_CALL_REGISTER;
	for (size_t i = first, found = 0; i < max && i < room && code == 0; i++) {
		const struct synth_table_jump *owner = NULL;
		uint32_t pos, other;
		int64_t entry;

		if (!read_entry(input, table, i, &entry))
			break;
		pos = entry_target(graph, table->base, entry, hole);
		if (!pos && (found || i >= UNUSED_MAX))
			break;
		if (pos && first == 0 && table->width == 4)
			owner = real_owner(explorer, table, entry, hole, pos, &other);
		if (!pos)
			continue;
		found += !owner;
		if (is_call)
			graph->bytes[pos] |= BYTE_DATA;
		code = owner ? synth_edge_add(explorer, owner->pos, other, none)
			     : synth_edge_add(explorer, pending->pos, pos,
					      is_call ? none : pending->known);
		if (code == 0 && (is_short || first == 0))
			code = follow_leads(explorer);
	}
	return code;
}

/*
 * A jump by an unknown register may lead to the addresses that code nearby takes into that
 * register: the entries of an unrolled loop.
 */
static int link_near(struct synth_explorer *explorer)
{
	const struct synth_graph *graph = explorer->graph;
	int code = 0;

	for (size_t i = 0; i < explorer->nr_open; i++) {
		struct synth_open_jump *jump = &explorer->open[i];
		/* Pairs present in the last round are done. */
		size_t k = i < explorer->nr_linked ? explorer->nr_labels_linked : 0;

		if (i >= explorer->nr_linked)
			jump->has_label = synth_graph_edges(graph, jump->pos) != NULL;
		if (jump->has_label)
			continue;
		for (; k < explorer->nr_labels && code == 0; k++) {
			const struct synth_label *label = &explorer->labels[k];
			uint32_t distance = label->at > jump->pos ? label->at - jump->pos
								  : jump->pos - label->at;

			if (label->reg == jump->reg && distance <= LABEL_REACH &&
			    !(graph->bytes[label->pos] & (BYTE_ENTRY | BYTE_INSIDE)))
				code = synth_edge_add(explorer, jump->pos, label->pos, NULL);
		}
	}
	explorer->nr_linked = explorer->nr_open;
	explorer->nr_labels_linked = explorer->nr_labels;
	return code;
}

static int by_place(const void *a, const void *b)
{
	const struct synth_table_jump *left = a, *right = b;

	/* the last is taken first */
	return left->target.table > right->target.table ? -1
							: left->target.table < right->target.table;
}

static int note_read(struct synth_explorer *explorer, const struct synth_table_jump *jump)
{
	int code = budget_grow(explorer->graph->budget, &explorer->read, &explorer->room_read,
			       explorer->nr_read, sizeof(*explorer->read), explorer->err);

	if (code == 0)
		explorer->read[explorer->nr_read++] = *jump;
	return code;
}

/*
 * Follow all leads, and the tables of their jumps except the first entries. Tables of distances
 * wait until all functions are entered: one ends where another begins.
 */
static int follow_most(struct synth_explorer *explorer)
{
	int code = follow_leads(explorer);
	size_t kept = 0;

	while (code == 0 && explorer->nr_pending > kept) {
		struct synth_table_jump jump = explorer->pending[--explorer->nr_pending];
		size_t max = jump.target.width == 2 ? SHORT_TABLE_MAX : TABLE_MAX;

		if (!explorer->graph->input->read)
			continue;
		if (!explorer->all_entered && jump.target.width != 8) {
			explorer->pending[explorer->nr_pending++] = explorer->pending[kept];
			explorer->pending[kept++] = jump;
			continue;
		}
		code = read_table(explorer, &jump, DOUBTFUL_MAX, max);
		if (code == 0)
			code = note_read(explorer, &jump);
		if (code == 0)
			code = follow_leads(explorer);
	}
	return code;
}

/* As follow_most(); once all functions are entered, with the first entries of tables, the lowest
 * table first. */
static int follow_tables(struct synth_explorer *explorer)
{
	int code = follow_most(explorer);

	while (code == 0 && explorer->all_entered && explorer->nr_read_whole < explorer->nr_read) {
		size_t nr = explorer->nr_read;

		qsort(explorer->read + explorer->nr_read_whole, nr - explorer->nr_read_whole,
		      sizeof(*explorer->read), by_place);
		for (; explorer->nr_read_whole < nr && code == 0; explorer->nr_read_whole++) {
			struct synth_table_jump jump = explorer->read[explorer->nr_read_whole];

			code = read_table(explorer, &jump, 0, DOUBTFUL_MAX);
		}
		if (code == 0)
			code = follow_most(explorer);
	}
	return code;
}

/* Follow labels in registers until nothing new is found. */
static int follow_labels(struct synth_explorer *explorer)
{
	struct synth_graph *graph = explorer->graph;
	int code = follow_tables(explorer);

	for (unsigned round = 0; round < LABEL_ROUNDS && code == 0; round++) {
		synth_graph_order_edges(graph);
		if (explorer->nr_labels == 0 || explorer->nr_open == 0 ||
		    (graph->nr_ops == explorer->nr_ops_traced &&
		     graph->nr_edges == explorer->nr_edges_traced))
			break;
		explorer->nr_ops_traced = graph->nr_ops;
		explorer->nr_edges_traced = graph->nr_edges;
		code = synth_labels_link(explorer);
		if (code == 0)
			code = follow_tables(explorer);
	}
	synth_graph_order_edges(graph);
	return code;
}

/* Follow all leads until nothing new is found. */
static int explore(struct synth_explorer *explorer)
{
	size_t nr_ops = 0;
	int code = follow_labels(explorer);

	while (code == 0 && explorer->all_entered && explorer->graph->nr_ops != nr_ops) {
		nr_ops = explorer->graph->nr_ops;
		code = link_near(explorer);
		if (code == 0)
			code = follow_labels(explorer);
	}
	return code;
}

static uint8_t byte_of(enum synth_evidence evidence)
{
	return evidence == EVIDENCE_DATA      ? BYTE_DATA
	       : evidence == EVIDENCE_ADDRESS ? BYTE_ADDRESS
					      : BYTE_ENTRY;
}

/* Begin at all entries of these kinds; at weaker ones unless better known code leads there. */
static int enter(struct synth_explorer *explorer, enum synth_evidence least,
		 enum synth_evidence most)
{
	struct synth_graph *graph = explorer->graph;
	const struct synth_input *input = graph->input;
	int code = 0;

	for (size_t i = 0; i < input->nr_entries && code == 0; i++) {
		const struct synth_entry *entry = &input->entries[i];
		uint32_t pos = synth_graph_pos(graph, entry->vaddr);

		if (!pos || entry->evidence < least || entry->evidence > most ||
		    (least < EVIDENCE_CALL && graph->index[pos]))
			continue;
		graph->bytes[pos] |= byte_of(least);
		code = lead_to(explorer, pos, NULL);
		if (code == 0 && least < EVIDENCE_CALL)
			code = least == EVIDENCE_DATA ? follow_tables(explorer)
						      : follow_leads(explorer);
	}
	return code ? code : explore(explorer);
}

/*
 * Is @pos, an address taken by code, likely to be a function's? It is aligned as compilers do it,
 * and no code runs into it, except from a call, which may be one of exit().
 */
static bool is_function_like(const struct synth_graph *graph, uint32_t pos)
{
	const struct synth_hole *hole = &graph->input->holes[synth_graph_hole(graph, pos)];
	uint64_t off = synth_graph_vaddr(graph, pos) - hole->start;

	if (synth_graph_vaddr(graph, pos) % FUNCTION_ALIGN || (graph->bytes[pos] & BYTE_INSIDE))
		return false;
	if (!graph->index[pos])
		return is_plausible(graph, pos);
	for (unsigned size = 1; size < FUNCTION_ALIGN && size < off; size++) {
		const struct synth_op *call = NULL;

		for (uint32_t at = 2; at < INSTRUCTION_MAX && at + size <= off && !call; at++) {
			call = synth_graph_op(graph, pos - size - at);
			if (call && call->size != at)
				call = NULL;
		}
		if (call && call->kind == OP_CALL &&
		    filler_size(hole->bytes + off - size, size, FILLER_INSTRUCTIONS) == size)
			return true;
	}
	return false;
}

/* Does endbr64 stand at @pos? */
static bool is_landing(const struct synth_graph *graph, uint32_t pos)
{
	const struct synth_hole *hole = &graph->input->holes[synth_graph_hole(graph, pos)];
	uint64_t off = synth_graph_vaddr(graph, pos) - hole->start;

	return hole->size - off >= 4 && memcmp(hole->bytes + off, "\xf3\x0f\x1e\xfa", 4) == 0;
}

/* Begin at addresses that code of a hole takes and that are likely to be functions. */
static int enter_taken(struct synth_explorer *explorer)
{
	struct synth_graph *graph = explorer->graph;
	int code = 0;

	for (size_t i = 0; i < explorer->nr_labels && code == 0; i++) {
		uint32_t pos = explorer->labels[i].pos;

		if ((graph->bytes[pos] & BYTE_ENTRIES) || !is_function_like(graph, pos))
			continue;
		/*
		 * compilers mark places where calls by pointer may land: no label of a table is one
		 */
		graph->bytes[pos] |= is_landing(graph, pos) ? BYTE_ADDRESS : BYTE_DATA;
		code = lead_to(explorer, pos, NULL);
		if (code == 0)
			code = follow_tables(explorer);
	}
	return code ? code : explore(explorer);
}

static int guess(struct synth_explorer *explorer)
{
	struct synth_graph *graph = explorer->graph;
	int code = 0;

	for (size_t i = 0; i < graph->input->nr_holes && code == 0; i++) {
		const struct synth_hole *hole = &graph->input->holes[i];
		size_t off = filler_size(hole->bytes, hole->size, FILLER_ZEROES);
		uint32_t pos = graph->bases[i] + (uint32_t)off;

		if (off >= hole->size || graph->index[pos])
			continue;
		graph->bytes[pos] |= BYTE_GUESS;
		code = lead_to(explorer, pos, NULL);
		if (code == 0)
			code = follow_tables(explorer);
	}
	return code ? code : explore(explorer);
}

static void cleanup_explorer(struct synth_explorer *explorer)
{
	free(explorer->leads);
	free(explorer->tables);
	free(explorer->pending);
	free(explorer->read);
	free(explorer->open);
	free(explorer->labels);
	free(explorer->crossings);
	synth_tracer_destroy(explorer->tracer);
}

int synth_explore(struct synth_graph *graph, struct fpl_err *err)
{
	CLEANUP(cleanup_explorer) struct synth_explorer explorer = { .graph = graph, .err = err };
	int code = graph->input->read ? find_addresses(&explorer) : 0;

	if (code == 0)
		code = enter(&explorer, EVIDENCE_CALL, EVIDENCE_SYMBOL);
	if (code == 0)
		code = enter(&explorer, EVIDENCE_JUMP, EVIDENCE_JUMP);
	if (code == 0)
		code = enter(&explorer, EVIDENCE_ADDRESS, EVIDENCE_ADDRESS);
	if (code == 0)
		code = enter(&explorer, EVIDENCE_DATA, EVIDENCE_DATA);
	explorer.all_entered = true;
	if (code == 0)
		code = explore(&explorer);
	if (code == 0)
		code = enter_taken(&explorer);
	return code == 0 && graph->input->guesses ? guess(&explorer) : code;
}
