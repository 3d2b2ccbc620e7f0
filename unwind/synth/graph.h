/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of all holes and their order. Private to unwind/synth.
 *
 * A position is a number for a byte of a hole: holes one after the other, from 1 on; 0: no
 * position.
 */
#pragma once

#include "unwind/budget.h"
#include "unwind/synth/input.h"
#include "unwind/synth/op.h"
#include "unwind/synth/state.h"

#define SYNTH_BYTES_MAX (512u << 20) /* of all holes of a file */

enum {
	BYTE_LEADER = 1,  /* a block begins there */
	BYTE_ENTRY = 2,	  /* a function begins there, by a symbol, a call or a jump */
	BYTE_ADDRESS = 4, /* a function begins there, unless that leads to nonsense: code takes its
			     address */
	BYTE_DATA = 8,	  /* one may: its address is somewhere in data */
	BYTE_GUESS = 16,  /* one may: nothing else begins in its hole */
	BYTE_INSIDE = 32, /* it is behind the first byte of an instruction */
	BYTE_FIRST = 64,  /* a hole begins there */
	BYTE_START = 128, /* an instruction does */
};
#define BYTE_ENTRIES (BYTE_ENTRY | BYTE_ADDRESS | BYTE_DATA | BYTE_GUESS)

/* A run of instructions entered at its first and left behind its last. */
struct synth_block {
	uint32_t pos, last; /* of its first and its last instruction */
	uint32_t group;	    /* of the blocks that flow leads between */
	uint32_t state;	    /* while its group is analysed: index of the state at its beginning */
	uint8_t reason;	    /* enum synth_reason: NONE or BAD_END */
	uint8_t belief;	    /* enum synth_belief: of the best way that reached it */
	bool reached, queued;
	bool no_return; /* the call that ends it does not come back */
	bool ends;	/* a way from there leads to a return (synth_ends_find()) */
};

/* Certainty of a way. Tables are read too far, and from too early on. */
enum synth_belief {
	BELIEF_FAR,  /* an entry of a table leads to another function */
	BELIEF_NEAR, /* an entry of a table leads on in the function */
	BELIEF_SURE, /* everything else */
};

/* A jump or call by register may lead there: positions of instructions. */
struct synth_edge {
	uint32_t from, to;
	bool by_table;
};

struct synth_graph {
	const struct synth_input *input; /* borrowed */
	struct budget *budget;		 /* borrowed */
	struct synth_decoder *decoder;	 /* owned */
	uint32_t *bases; /* owned [nr_holes + 1]: position of the first byte of each hole */
	uint32_t nr_bytes;
	uint32_t *index;      /* owned [nr_bytes + 1]: number of the instruction there, + 1 */
	uint8_t *bytes;	      /* owned [nr_bytes + 1]: BYTE_* */
	struct synth_op *ops; /* owned [nr_ops] */
	size_t nr_ops, room_ops;
	uint64_t label_probes; /* of synth_result */
	bool has_overlaps;     /* instructions share bytes */
	uint8_t *reasons;      /* owned [nr_ops]: enum synth_reason */
	bool *fp_refuted;      /* owned [nr_ops]: result of synth_state_refutes_fp() there */
	uint32_t *block_of; /* owned [nr_ops]: for first instructions of blocks: block number + 1 */
	struct synth_block *blocks; /* owned [nr_blocks], ascending by pos */
	size_t nr_blocks;
	struct synth_edge *edges; /* owned [nr_edges], the first nr_edges_ordered ascending */
	size_t nr_edges, nr_edges_ordered, room_edges;
};

/* Follow the code from all entries, and cut it into blocks. Errors: as synth_analyse(). */
FPL_MUST_CHECK int synth_graph_make(struct synth_graph *graph, const struct synth_input *input,
				    struct budget *budget, struct fpl_err *err);
void synth_graph_fini(struct synth_graph *graph);

/* Position of @vaddr; 0: in no hole. Cost: O(log holes). */
uint32_t synth_graph_pos(const struct synth_graph *graph, uint64_t vaddr);
/* Number of the hole that @pos > 0 is in. Cost: O(log holes). */
size_t synth_graph_hole(const struct synth_graph *graph, uint32_t pos);

uint64_t synth_graph_vaddr(const struct synth_graph *graph, uint32_t pos);

/* The instruction at @pos; NULL: none was decoded there. */
static inline const struct synth_op *synth_graph_op(const struct synth_graph *graph, uint32_t pos)
{
	return graph->index[pos] ? &graph->ops[graph->index[pos] - 1] : NULL;
}

/* The block that begins at @pos; NULL: none. */
static inline struct synth_block *synth_graph_block(const struct synth_graph *graph, uint32_t pos)
{
	uint32_t op = graph->index[pos];

	return op && graph->block_of[op - 1] ? &graph->blocks[graph->block_of[op - 1] - 1] : NULL;
}

/* Position behind the instruction at @pos; 0: its hole ends there. */
static inline uint32_t synth_graph_next(const struct synth_graph *graph, uint32_t pos)
{
	uint32_t next = pos + graph->ops[graph->index[pos] - 1].size;

	return next <= graph->nr_bytes && !(graph->bytes[next] & BYTE_FIRST) ? next : 0;
}

/* Sort the edges and drop duplicates: only sorted edges are found. */
void synth_graph_order_edges(struct synth_graph *graph);

/* The first target of the jump or call by register at @pos; NULL: none is known. */
const struct synth_edge *synth_graph_edges(const struct synth_graph *graph, uint32_t pos);

/* The next target of the same jump; NULL: no more. */
const struct synth_edge *synth_graph_edge_after(const struct synth_graph *graph,
						const struct synth_edge *edge);

/* A row in short, of [pos, end). */
struct synth_row {
	uint32_t pos, end;
	uint32_t group;
	uint16_t initial; /* registers that hold what they held at the entry */
	bool guess;
	uint8_t cfa, cfa_reg;
	int32_t cfa_off, cfa_off2;
	struct {
		uint8_t kind, reg;
		int32_t off;
	} saved[FPL_NR_SAVED];
};

struct synth_rows {
	struct synth_row *list; /* owned [nr] */
	size_t nr, room;
	uint16_t *needed; /* owned, by group: registers of a callee that its callers rely on */
};

/* Find the state at each instruction, and make rows. Errors: as synth_analyse(). */
FPL_MUST_CHECK int synth_flow(struct synth_graph *graph, struct synth_rows *rows,
			      struct fpl_err *err);
