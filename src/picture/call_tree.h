/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of frames whose samples can be told apart when it is looked at: by process, by how the
 * walk ended, by how frames were found, by what the other walk is worth. A page weighs it anew for
 * each choice of its reader, so it holds at each node in which groups samples end there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "picture/flame_paths.h"

/* A function: one name in one object. They are in the order of names, objects and kinds. */
struct call_function {
	uint64_t self, total;  /* samples of the sides counted, exact: a recursion counted once */
	uint32_t text, object; /* in the strings of the paths */
	uint8_t kind;	       /* FUNCTION_LABEL, FUNCTION_USER or FUNCTION_KERNEL */
};

struct call_functions {
	struct call_function *list; /* owned [nr] */
	uint32_t *of_cells;	    /* owned: the function of each cell of the paths */
	size_t nr;
};

/*
 * All functions of @paths, with the samples of @sides (1 << side). Cost: O(n log n) in cells,
 * O(steps).
 */
void call_functions_make(const struct flame_paths *paths, unsigned sides,
			 struct call_functions *ret);
void call_functions_fini(struct call_functions *functions);

/* The index of the function called @text in @object; functions->nr: not in the list. */
size_t call_functions_find(const struct call_functions *functions, const struct flame_paths *paths,
			   const char *text, const char *object, uint8_t kind);

#define CALL_FOUND_INLINED 64u /* beside 1 << enum fpl_origin; src/picture/page/model.js */
_Static_assert(CALL_FOUND_INLINED >> FPL_ORIGIN_COUNT, "an origin has the bit of what is inlined");

struct call_node {
	uint64_t total;	   /* samples */
	uint32_t function; /* index; of the root 0 */
	uint32_t depth;	   /* of the root 0 */
	uint32_t elided;   /* the most of any path that leads here */
	uint8_t found;	   /* how its frames were found, each way a bit */
};

/*
 * Samples of one group at one node. As an end they end in it, or, with @kind 1, in nodes below it
 * that are not there. As a mark its frame has the mark @kind, enum walk_mark, in them.
 */
struct call_count {
	uint64_t count;
	uint32_t node, group;
	uint32_t stack; /* private */
	uint8_t kind;
};

struct call_counts {
	struct call_count *list; /* a vector: by node, kind and group */
	size_t nr, room;
};

/* The node that the samples of a stack end in, or, @left, below. */
struct call_place {
	uint32_t node;
	bool left;
};

struct call_tree {
	VECTOR(struct call_node) nodes; /* in pre-order, siblings by function; [0] is the root */
	struct call_counts ends, marks;
	struct call_place *places; /* owned [nr_stacks of the options]; NULL: not asked for */
	uint64_t min_total;	   /* nodes of fewer samples are not there, */
	uint64_t left_nodes;	   /* as many as that */
};

struct call_tree_options {
	unsigned sides;		/* of the paths: 1 << side */
	uint64_t min_total;	/* 0: 1, of everything there is */
	uint32_t nodes_max;	/* min_total is raised until no more are left */
	size_t nr_stacks;	/* of the recording, of one side: to have places; 0: none */
	const uint32_t *groups; /* of each stack of the recording; NULL: the side is the group */
	/* NULL: no marks. What is inlined has no step then: one step for each frame. */
	const struct recording *marked;
};

/* Cost: path_sort's. */
void call_tree_make(const struct flame_paths *paths, const struct call_functions *functions,
		    const struct call_tree_options *options, struct call_tree *ret);
void call_tree_fini(struct call_tree *tree);
