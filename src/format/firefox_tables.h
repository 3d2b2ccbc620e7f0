/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of one thread in Firefox Profiler's format: stacks as a tree, frames, functions,
 * resources and strings, each with what the thread's samples refer to and nothing else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/id_table.h"
#include "base/vector.h"
#include "view/function_index.h"
#include "view/json.h"
#include "view/stack_slots.h"

#define FIREFOX_NONE UINT32_MAX

/* The used part of a table of the recording, in the order of its use. */
struct firefox_subset {
	uint32_t *local; /* owned: number among the used + 1; 0: not used */
	uint32_t *used;	 /* owned [nr]: the recording's numbers */
	size_t nr;
};

/* A node of the tree: a frame called by that of another node. */
struct firefox_node {
	uint32_t prefix; /* node; FIREFOX_NONE: a root */
	uint32_t frame;	 /* number among the thread's */
};

struct firefox_tables {
	const struct function_index *index; /* borrowed */
	struct frame_texts *texts;	    /* borrowed: those of the index */
	struct firefox_subset frames;	    /* by slot of the texts */
	struct firefox_subset functions, objects, strings;
	VECTOR(struct firefox_node) nodes;
	struct id_table node_ids;
	uint32_t *frame_of;	  /* owned: the recording's frame of each slot */
	uint32_t *sources;	  /* owned: function_index_sources() */
	struct stack_slots slots; /* of the stack at hand */
	uint32_t unknown;	  /* text of what has no frame */
};

enum { FIREFOX_USER, FIREFOX_KERNEL, FIREFOX_OTHER }; /* categories */

/* @index outlives @ret, whose texts get no more strings. */
void firefox_tables_init(struct frame_texts *texts, const struct function_index *index,
			 struct firefox_tables *ret);
void firefox_tables_fini(struct firefox_tables *tables);

/* The node of @stack, made where it is not there. Cost: O(depth). */
uint32_t firefox_tables_add(struct firefox_tables *tables, const struct recording_stack *stack);

/* Write the tables as members of the thread that is open. */
void firefox_tables_write(struct firefox_tables *tables, struct json *json);

/* Forget all that was added: another thread begins. */
void firefox_tables_clear(struct firefox_tables *tables);
