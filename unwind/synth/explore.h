/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follow the code: instructions from entries on, through jumps by tables and by labels in
 * registers. Private to unwind/synth.
 */
#pragma once

#include "unwind/synth/graph.h"
#include "unwind/synth/known.h"

/* A place to follow code from, and the facts known there. */
struct synth_lead {
	uint32_t pos;
	struct synth_known known[SYNTH_KNOWN_MAX];
};

/* A jump or call by an entry of a table. */
struct synth_table_jump {
	uint32_t pos;
	struct synth_known target;
	struct synth_known known[SYNTH_KNOWN_MAX];
};

struct synth_open_jump {
	uint32_t pos;
	unsigned reg;
	bool has_label; /* that was followed to there */
};

/* The instruction at @at takes the address of @pos, in the same hole. */
/* A label reached a jump or call by register, which led to that many places then. */
struct synth_crossing {
	uint32_t pos, nr_edges;
};

struct synth_label {
	uint32_t at, pos;
	uint8_t reg;
	bool is_traced;	 /* as far as was known then, */
	bool is_cut_off; /* and to where code was not decoded yet */
	size_t first_crossing, nr_crossings, room_crossings;
};

struct synth_explorer {
	struct synth_graph *graph;
	struct synth_lead *leads; /* owned [nr_leads] */
	size_t nr_leads, room_leads;
	uint64_t *tables; /* owned [nr_tables]: addresses that code takes, perhaps of tables */
	size_t nr_tables, room_tables, nr_tables_sorted;
	struct synth_table_jump
		*pending; /* owned [nr_pending]: jumps whose tables are not read yet */
	size_t nr_pending, room_pending;
	struct synth_table_jump *read;		  /* owned [nr_read]: whose tables are, */
	size_t nr_read, room_read, nr_read_whole; /* and of which the first entries are, too */
	struct synth_open_jump
		*open; /* owned [nr_open]: jumps by registers without a known table */
	size_t nr_open, room_open;
	struct synth_label *labels; /* owned [nr_labels] */
	size_t nr_labels, room_labels;
	struct synth_crossing *crossings; /* owned [nr_crossings]: of labels, grouped by label */
	size_t nr_crossings, room_crossings;
	struct synth_tracer *tracer;	       /* owned: follows labels; NULL: not made yet */
	size_t nr_ops_traced, nr_edges_traced; /* of the graph when labels were followed last */
	size_t nr_linked, nr_labels_linked;    /* pairs of these many were linked before */
	bool all_entered;		       /* but guesses: what tables there are is known */
	struct fpl_err *err;
};

/* Decode all code that entries lead to. Errors: as synth_analyse(). */
FPL_MUST_CHECK int synth_explore(struct synth_graph *graph, struct fpl_err *err);

/* The jump or call at @from may lead to @to. @known: the facts there, from a table; NULL: a label
 * leads there. */
FPL_MUST_CHECK int synth_edge_add(struct synth_explorer *explorer, uint32_t from, uint32_t to,
				  const struct synth_known *known);

/* Follow labels in registers: add an edge for each jump and call by a register that holds one. */
FPL_MUST_CHECK int synth_labels_link(struct synth_explorer *explorer);

/* NULL is allowed. */
void synth_tracer_destroy(struct synth_tracer *tracer);
