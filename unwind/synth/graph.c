/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/filler.h"
#include "unwind/zeroed.h"

enum { KNOWN_MAX = 4, TABLE_MAX = 1024, ENTRY_BYTES = 4, UNUSED_MAX = 16, CHECK_EVERY = 4096 };

/* How far a jump is from where its target is taken, in bytes; how many of each are looked at. */
enum { LABEL_REACH = 4096, LABELS_MAX = 4096 };

/* What a register is known to hold on the way to a jump by table. */
enum known_kind { KNOWN_NOTHING, KNOWN_ADDRESS, KNOWN_ENTRY, KNOWN_TARGET };

struct known {
	uint8_t kind, reg;
	uint64_t table; /* ADDRESS: itself; ENTRY, TARGET: of the table it was read from */
	uint64_t base;	/* TARGET: what the entry is added to */
};

/* A place to follow code from, and what is known on the way there. */
struct lead {
	uint32_t pos;
	struct known known[KNOWN_MAX];
};

struct table_jump {
	uint32_t pos;
	uint64_t table, base;
	struct known known[KNOWN_MAX];
};

struct open_jump {
	uint32_t pos;
	unsigned reg;
};

struct label {
	uint32_t at, pos; /* of the instruction that takes the address, and the address */
	unsigned reg;
};

struct explorer {
	struct synth_graph *graph;
	struct lead *leads; /* owned [nr_leads] */
	size_t nr_leads, room_leads;
	uint64_t *tables; /* owned [nr_tables]: addresses that code takes, of tables maybe */
	size_t nr_tables, room_tables;
	struct table_jump *pending; /* owned [nr_pending]: jumps whose tables are not read yet */
	size_t nr_pending, room_pending;
	struct open_jump *open; /* owned [nr_open]: jumps by registers that nothing is known of */
	size_t nr_open, room_open;
	struct label *labels; /* owned [nr_labels]: addresses in their own hole that code takes */
	size_t nr_labels, room_labels;
	size_t nr_linked, nr_labels_linked; /* of which the one may lead to the other already */
	struct fpl_err *err;
};

int synth_grow(struct budget *budget, void *list, size_t *room, size_t nr, size_t size,
	       struct fpl_err *err)
{
	void **array = list;

	if (nr < *room)
		return 0;

	size_t wanted = *room ? 2 * *room : 256;
	int code = budget_memory(budget, (wanted - *room) * size, err);

	if (code)
		return code;

	void *grown = reallocarray(*array, wanted, size);

	if (!grown)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);
	*array = grown;
	*room = wanted;
	return 0;
}

static size_t hole_of(const struct synth_graph *graph, uint32_t pos)
{
	size_t lo = 0, hi = graph->input->nr_holes;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (graph->bases[mid] <= pos)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
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
	size_t hole = hole_of(graph, pos);

	return graph->input->holes[hole].start + (pos - graph->bases[hole]);
}

uint32_t synth_graph_next(const struct synth_graph *graph, uint32_t pos)
{
	const struct synth_op *op = synth_graph_op(graph, pos);
	size_t hole = hole_of(graph, pos);
	uint32_t next = pos + op->size;

	return next < graph->bases[hole + 1] ? next : 0;
}

const struct synth_edge *synth_graph_edges(const struct synth_graph *graph, uint32_t pos)
{
	size_t lo = 0, hi = graph->nr_edges;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (graph->edges[mid].from < pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < graph->nr_edges && graph->edges[lo].from == pos ? &graph->edges[lo] : NULL;
}

const struct synth_edge *synth_graph_edge_after(const struct synth_graph *graph,
						const struct synth_edge *edge)
{
	const struct synth_edge *next = edge + 1;

	return next < graph->edges + graph->nr_edges && next->from == edge->from ? next : NULL;
}

static int lead_add(struct explorer *explorer, uint32_t pos, const struct known *known)
{
	int code = synth_grow(explorer->graph->budget, &explorer->leads, &explorer->room_leads,
			      explorer->nr_leads, sizeof(*explorer->leads), explorer->err);

	if (code)
		return code;

	struct lead *lead = &explorer->leads[explorer->nr_leads++];

	*lead = (struct lead){ .pos = pos };
	if (known)
		memcpy(lead->known, known, sizeof(lead->known));
	return 0;
}

static const struct known *known_of(const struct known *known, unsigned reg)
{
	for (unsigned i = 0; i < KNOWN_MAX; i++)
		if (known[i].kind != KNOWN_NOTHING && known[i].reg == reg)
			return &known[i];
	return NULL;
}

/* The newest first; what is oldest goes. */
static void known_set(struct known *known, struct known value)
{
	unsigned i = 0;

	while (i < KNOWN_MAX - 1 && !(known[i].kind != KNOWN_NOTHING && known[i].reg == value.reg))
		i++;
	memmove(&known[1], &known[0], i * sizeof(*known));
	known[0] = value;
}

static void known_drop(struct known *known, uint16_t mask)
{
	for (unsigned i = 0; i < KNOWN_MAX; i++)
		if (mask >> known[i].reg & 1)
			known[i].kind = KNOWN_NOTHING;
}

/* Does an instruction of @kind write its dst? */
static bool writes_dst(uint8_t kind)
{
	switch (kind) {
	case OP_POP:
	case OP_ADD:
	case OP_ALIGN:
	case OP_LEA:
	case OP_MOVE:
	case OP_SWAP:
	case OP_LOAD:
		return true;
	default:
		return false;
	}
}

/* dst += src, one of them an entry of a table, the other what its entries are relative to. */
static void known_sum(struct known *known, unsigned dst, unsigned src)
{
	const struct known *a = known_of(known, dst), *b = known_of(known, src);
	const struct known *entry = a && a->kind == KNOWN_ENTRY ? a : b;
	const struct known *base = entry == a ? b : a;
	struct known sum = { .reg = (uint8_t)dst };

	if (entry && base && entry->kind == KNOWN_ENTRY && base->kind == KNOWN_ADDRESS) {
		sum.kind = KNOWN_TARGET;
		sum.table = entry->table;
		sum.base = base->table;
	}
	known_set(known, sum);
}

/* @op, at @at, takes an address. */
static int label_add(struct explorer *explorer, uint32_t at, const struct synth_op *op)
{
	struct synth_graph *graph = explorer->graph;
	uint32_t pos = synth_graph_pos(graph, (uint64_t)op->imm);
	int code;

	if (!pos || hole_of(graph, pos) != hole_of(graph, at) || explorer->nr_labels == LABELS_MAX)
		return 0;
	code = synth_grow(graph->budget, &explorer->labels, &explorer->room_labels,
			  explorer->nr_labels, sizeof(*explorer->labels), explorer->err);
	if (code == 0)
		explorer->labels[explorer->nr_labels++] = (struct label){ at, pos, op->dst };
	return code;
}

static int table_add(struct explorer *explorer, uint64_t vaddr)
{
	int code = synth_grow(explorer->graph->budget, &explorer->tables, &explorer->room_tables,
			      explorer->nr_tables, sizeof(*explorer->tables), explorer->err);

	if (code == 0)
		explorer->tables[explorer->nr_tables++] = vaddr;
	return code;
}

static int known_step(struct explorer *explorer, struct known *known, const struct synth_op *op)
{
	const struct known *src = known_of(known, op->src);
	struct known value = { .reg = op->dst };

	known_drop(known, op->clobbers);
	switch (op->kind) {
	case OP_ADDRESS:
		value.kind = KNOWN_ADDRESS;
		value.table = (uint64_t)op->imm;
		known_set(known, value);
		return table_add(explorer, value.table);
	case OP_TABLE:
		if (src && src->kind == KNOWN_ADDRESS) {
			value.kind = KNOWN_ENTRY;
			value.table = op->imm > 0 ? src->table : src->table + (uint64_t)op->imm;
		}
		known_set(known, value);
		return 0;
	case OP_SUM:
		known_sum(known, op->dst, op->src);
		return 0;
	case OP_MOVE:
		if (src) {
			value = *src;
			value.reg = op->dst;
		}
		known_set(known, value);
		return 0;
	case OP_CALL:
	case OP_CALL_ANY:
		known_drop(known, (uint16_t) ~(unsigned)ARCH_CALLEE_SAVED);
		return 0;
	default:
		if (writes_dst(op->kind))
			known_drop(known, (uint16_t)(1u << op->dst));
		return 0;
	}
}

static int op_add(struct synth_graph *graph, const struct synth_op *op, uint32_t pos,
		  struct fpl_err *err)
{
	int code = synth_grow(graph->budget, &graph->ops, &graph->room_ops, graph->nr_ops,
			      sizeof(*graph->ops), err);

	if (code)
		return code;
	graph->ops[graph->nr_ops++] = *op;
	graph->index[pos] = (uint32_t)graph->nr_ops;
	for (uint32_t i = 1; i < op->size && pos + i <= graph->nr_bytes; i++)
		graph->bytes[pos + i] |= BYTE_INSIDE;
	return graph->nr_ops % CHECK_EVERY ? 0 : budget_check(graph->budget, err);
}

/* Code goes on at @pos with what is known now; it is a block of its own. */
static int lead_to(struct explorer *explorer, uint32_t pos, const struct known *known)
{
	explorer->graph->bytes[pos] |= BYTE_LEADER;
	return explorer->graph->index[pos] ? 0 : lead_add(explorer, pos, known);
}

static int call_to(struct explorer *explorer, uint64_t vaddr)
{
	struct synth_graph *graph = explorer->graph;
	uint32_t pos = synth_graph_pos(graph, vaddr);

	if (pos == 0)
		return 0;
	graph->bytes[pos] |= BYTE_ENTRY;
	return lead_to(explorer, pos, NULL);
}

static int open_add(struct explorer *explorer, uint32_t pos, unsigned reg)
{
	int code;

	if (explorer->nr_open == LABELS_MAX)
		return 0;
	code = synth_grow(explorer->graph->budget, &explorer->open, &explorer->room_open,
			  explorer->nr_open, sizeof(*explorer->open), explorer->err);
	if (code == 0)
		explorer->open[explorer->nr_open++] = (struct open_jump){ pos, reg };
	return code;
}

static int jump_by_table(struct explorer *explorer, uint32_t pos, const struct known *known,
			 unsigned reg)
{
	const struct known *target = known_of(known, reg);

	if (!target || target->kind != KNOWN_TARGET)
		return open_add(explorer, pos, reg);

	int code = synth_grow(explorer->graph->budget, &explorer->pending, &explorer->room_pending,
			      explorer->nr_pending, sizeof(*explorer->pending), explorer->err);

	if (code)
		return code;

	struct table_jump *jump = &explorer->pending[explorer->nr_pending++];

	*jump = (struct table_jump){ .pos = pos, .table = target->table, .base = target->base };
	memcpy(jump->known, known, sizeof(jump->known));
	return 0;
}

/* Where to go from the instruction at @pos, which may end a block. *ret_on: with the next one. */
static int follow(struct explorer *explorer, uint32_t pos, const struct synth_op *op,
		  struct known *known, bool *ret_on)
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
	case OP_BRANCH:
		if (op->kind == OP_CALL)
			code = call_to(explorer, (uint64_t)op->imm);
		if (next)
			graph->bytes[next] |= BYTE_LEADER;
		*ret_on = true;
		break;
	case OP_JUMP_REGISTER:
		code = jump_by_table(explorer, pos, known, op->dst);
		break;
	case OP_JUMP:
	case OP_JUMP_MEMORY:
	case OP_RETURN:
	case OP_END:
	case OP_BAD:
		break;
	default:
		*ret_on = true;
	}
	return code;
}

/* Decode from @lead on until code was seen before, or ends. */
static int run(struct explorer *explorer, struct lead *lead)
{
	struct synth_graph *graph = explorer->graph;
	size_t hole = hole_of(graph, lead->pos);
	const struct synth_hole *code_bytes = &graph->input->holes[hole];
	uint32_t base = graph->bases[hole];
	uint32_t pos = lead->pos;
	bool on = true;

	while (on && pos) {
		uint32_t off = pos - base;
		struct synth_op op;

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
			code = known_step(explorer, lead->known, &op);
		if (code == 0 && op.kind == OP_ADDRESS)
			code = label_add(explorer, pos, &op);
		if (code)
			return code;
		pos = synth_graph_next(graph, pos);
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* How many entries a table at @table has room for, until the next address that code takes. */
static size_t table_room(const struct explorer *explorer, uint64_t table)
{
	size_t lo = 0, hi = explorer->nr_tables;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (explorer->tables[mid] <= table)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == explorer->nr_tables || explorer->tables[lo] - table > TABLE_MAX * ENTRY_BYTES)
		return TABLE_MAX;
	return (explorer->tables[lo] - table) / ENTRY_BYTES;
}

/* The jump at @from may lead to @to. */
static int edge_add(struct explorer *explorer, uint32_t from, uint32_t to,
		    const struct known *known)
{
	struct synth_graph *graph = explorer->graph;
	int code = synth_grow(graph->budget, &graph->edges, &graph->room_edges, graph->nr_edges,
			      sizeof(*graph->edges), explorer->err);

	if (code)
		return code;
	graph->edges[graph->nr_edges++] = (struct synth_edge){ from, to };
	return lead_to(explorer, to, known);
}

/*
 * Read the table of @pending: entries until one does not lead into the hole of the jump. Compilers
 * check the index before; people, who count bits, do not, and begin to count at 1 or below 0.
 */
static int read_table(struct explorer *explorer, const struct table_jump *pending)
{
	struct synth_graph *graph = explorer->graph;
	const struct synth_input *input = graph->input;
	size_t room = table_room(explorer, pending->table);
	size_t hole = hole_of(graph, pending->pos);
	int code = 0;

	for (size_t i = 0, found = 0; i < room && code == 0; i++) {
		int32_t entry;

		if (!input->read(input->ctx, pending->table + i * ENTRY_BYTES, &entry,
				 sizeof(entry)))
			break;

		uint32_t pos = synth_graph_pos(graph, pending->base + (uint64_t)(int64_t)entry);

		if (pos && hole_of(graph, pos) == hole && !(graph->bytes[pos] & BYTE_INSIDE)) {
			found++;
			code = edge_add(explorer, pending->pos, pos, pending->known);
		} else if (found || i >= UNUSED_MAX) {
			break;
		}
	}
	return code;
}

/*
 * A jump by a register that nothing is known of may lead to where code nearby takes an address into
 * that register: the entries of an unrolled loop.
 */
static int link_labels(struct explorer *explorer)
{
	const struct synth_graph *graph = explorer->graph;
	int code = 0;

	for (size_t i = 0; i < explorer->nr_open; i++) {
		const struct open_jump *jump = &explorer->open[i];
		/* What both were there for before is done. */
		size_t k = i < explorer->nr_linked ? explorer->nr_labels_linked : 0;

		for (; k < explorer->nr_labels && code == 0; k++) {
			const struct label *label = &explorer->labels[k];
			uint32_t distance = label->at > jump->pos ? label->at - jump->pos
								  : jump->pos - label->at;

			if (label->reg == jump->reg && distance <= LABEL_REACH &&
			    !(graph->bytes[label->pos] & (BYTE_ENTRY | BYTE_INSIDE)))
				code = edge_add(explorer, jump->pos, label->pos, NULL);
		}
	}
	explorer->nr_linked = explorer->nr_open;
	explorer->nr_labels_linked = explorer->nr_labels;
	return code;
}

/* Follow all leads, then the jumps by table that they came to, until there is nothing new. */
static int explore(struct explorer *explorer)
{
	int code = 0;

	while (code == 0 && (explorer->nr_leads || explorer->nr_pending ||
			     explorer->nr_linked != explorer->nr_open ||
			     explorer->nr_labels_linked != explorer->nr_labels)) {
		while (code == 0 && explorer->nr_leads) {
			struct lead lead = explorer->leads[--explorer->nr_leads];

			code = run(explorer, &lead);
		}
		if (explorer->nr_pending)
			qsort(explorer->tables, explorer->nr_tables, sizeof(*explorer->tables),
			      by_address);
		while (code == 0 && explorer->nr_pending) {
			struct table_jump jump = explorer->pending[--explorer->nr_pending];

			if (explorer->graph->input->read)
				code = read_table(explorer, &jump);
		}
		if (code == 0 && !explorer->nr_leads)
			code = link_labels(explorer);
	}
	return code;
}

static uint8_t byte_of(enum synth_evidence evidence)
{
	return evidence == EVIDENCE_DATA      ? BYTE_DATA
	       : evidence == EVIDENCE_ADDRESS ? BYTE_ADDRESS
					      : BYTE_ENTRY;
}

/* Begin at all entries of these kinds; at weaker ones unless code known better leads there. */
static int enter(struct explorer *explorer, enum synth_evidence least, enum synth_evidence most)
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
			code = explore(explorer);
	}
	return code ? code : explore(explorer);
}

static int guess(struct explorer *explorer)
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
			code = explore(explorer);
	}
	return code;
}

/* Number the blocks. */
static int cut(struct synth_graph *graph, struct fpl_err *err)
{
	size_t nr = 0;

	for (uint32_t pos = 1; pos <= graph->nr_bytes; pos++)
		nr += graph->index[pos] && (graph->bytes[pos] & BYTE_LEADER);

	int code = budget_memory(
		graph->budget, nr * sizeof(*graph->blocks) + graph->nr_ops * (sizeof(uint32_t) + 1),
		err);

	if (code)
		return code;
	graph->blocks = calloc(nr + 1, sizeof(*graph->blocks));
	graph->block_of = calloc(graph->nr_ops + 1, sizeof(*graph->block_of));
	graph->reasons = malloc(graph->nr_ops + 1);
	if (!graph->blocks || !graph->block_of || !graph->reasons)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	memset(graph->reasons, SYNTH_REASON_NO_ENTRY, graph->nr_ops + 1);
	for (uint32_t pos = 1; pos <= graph->nr_bytes; pos++) {
		if (!graph->index[pos] || !(graph->bytes[pos] & BYTE_LEADER))
			continue;
		graph->blocks[graph->nr_blocks++] = (struct synth_block){ .pos = pos };
		graph->block_of[graph->index[pos] - 1] = (uint32_t)graph->nr_blocks;
	}
	return 0;
}

static bool ends_block(uint8_t kind)
{
	return kind >= OP_CALL;
}

/* Find the last instruction of each block. */
static void measure(struct synth_graph *graph)
{
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		uint32_t pos = graph->blocks[i].pos, next = pos;

		do {
			pos = next;
			next = synth_graph_next(graph, pos);
		} while (next && !ends_block(synth_graph_op(graph, pos)->kind) &&
			 synth_graph_op(graph, next) && !synth_graph_block(graph, next));
		graph->blocks[i].last = pos;
	}
}

/* Two instructions that share bytes cannot both be meant: neither is trusted. */
static void find_overlaps(struct synth_graph *graph)
{
	uint32_t pos = 1;

	while (pos <= graph->nr_bytes) {
		uint32_t op = graph->index[pos], size;

		if (!op) {
			pos++;
			continue;
		}
		size = graph->ops[op - 1].size;
		for (uint32_t i = 1; i < size && pos + i <= graph->nr_bytes; i++) {
			if (!graph->index[pos + i])
				continue;
			graph->reasons[op - 1] = SYNTH_REASON_OVERLAP;
			graph->reasons[graph->index[pos + i] - 1] = SYNTH_REASON_OVERLAP;
		}
		pos++;
	}
}

static int by_ends(const void *a, const void *b)
{
	const struct synth_edge *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->to < right->to ? -1 : left->to > right->to;
}

/* Sort the edges, each once. */
static void order_edges(struct synth_graph *graph)
{
	size_t nr = 0;

	if (graph->nr_edges)
		qsort(graph->edges, graph->nr_edges, sizeof(*graph->edges), by_ends);
	for (size_t i = 0; i < graph->nr_edges; i++)
		if (nr == 0 || by_ends(&graph->edges[nr - 1], &graph->edges[i]))
			graph->edges[nr++] = graph->edges[i];
	graph->nr_edges = nr;
}

static int lay_out(struct synth_graph *graph, struct fpl_err *err)
{
	const struct synth_input *input = graph->input;
	uint64_t total = 0;

	graph->bases = calloc(input->nr_holes + 1, sizeof(*graph->bases));
	if (!graph->bases)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	for (size_t i = 0; i < input->nr_holes; i++) {
		graph->bases[i] = (uint32_t)total + 1;
		total += input->holes[i].size;
		if (total > SYNTH_BYTES_MAX)
			return fpl_fail(err, -EFBIG, "%s: more than %u MiB of code without CFI",
					graph->budget->name, SYNTH_BYTES_MAX >> 20);
	}
	graph->bases[input->nr_holes] = (uint32_t)total + 1;
	graph->nr_bytes = (uint32_t)total;

	int code = budget_memory(graph->budget, (total + 1) * (sizeof(uint32_t) + 1), err);

	if (code)
		return code;
	graph->index = zeroed_alloc((total + 1) * sizeof(*graph->index));
	graph->bytes = zeroed_alloc(total + 1);
	graph->decoder = synth_decoder_create();
	if (!graph->index || !graph->bytes || !graph->decoder)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	return 0;
}

static void cleanup_explorer(struct explorer *explorer)
{
	free(explorer->leads);
	free(explorer->tables);
	free(explorer->pending);
	free(explorer->open);
	free(explorer->labels);
}

int synth_graph_make(struct synth_graph *graph, const struct synth_input *input,
		     struct budget *budget, struct fpl_err *err)
{
	CLEANUP(cleanup_explorer) struct explorer explorer = { .graph = graph, .err = err };

	*graph = (struct synth_graph){ .input = input, .budget = budget };

	int code = lay_out(graph, err);

	if (code == 0)
		code = enter(&explorer, EVIDENCE_CALL, EVIDENCE_SYMBOL);
	if (code == 0)
		code = enter(&explorer, EVIDENCE_JUMP, EVIDENCE_JUMP);
	if (code == 0)
		code = enter(&explorer, EVIDENCE_ADDRESS, EVIDENCE_ADDRESS);
	if (code == 0)
		code = enter(&explorer, EVIDENCE_DATA, EVIDENCE_DATA);
	if (code == 0 && input->guesses)
		code = guess(&explorer);
	if (code == 0)
		code = cut(graph, err);
	if (code)
		return code;
	find_overlaps(graph);
	measure(graph);
	order_edges(graph);
	return 0;
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
	free(graph->blocks);
	free(graph->edges);
}
