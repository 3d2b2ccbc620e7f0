/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of frames of a profile: what flame graphs, icicles and differences show. Frames that
 * read the same below one caller are one node, but what is kernel code, a label, or of_waker, is
 * never one with what is not. Siblings are in the order of their texts, by bytes.
 *
 * Nodes are an array in pre-order: the children of node i begin at i + 1, the next sibling of a
 *node is at its end, and a node is a leaf where its end is the next index:
 *
 *	for (uint32_t i = node + 1; i < nodes[node].end; i = nodes[i].end)	each child
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "picture/flame_paths.h"

struct flame_node {
	uint64_t total[FLAME_SIDES], self[FLAME_SIDES]; /* samples; self: it is the last frame */
	/* Frames of total, on both sides, that were found in each way; kernel frames, labels and
	 * recordings of other tools have no way. */
	uint64_t found[FPL_ORIGIN_COUNT];
	uint32_t text;	 /* in the strings of the paths; of the root "" */
	uint32_t object; /* there, too; of several the first that was met: see objects_differ */
	uint32_t parent; /* index; of the root 0 */
	uint32_t end;	 /* index behind the last node below it */
	uint32_t depth;	 /* of the root 0 */
	uint32_t elided; /* the most of any path that leads here */
	uint8_t kind;	 /* enum function_kind; FUNCTION_INLINED: in all samples; of the root
			    FUNCTION_LABEL */
	bool objects_differ;
	bool of_waker; /* as of its cells */
};

#define FLAME_NO_NODE UINT32_MAX

struct flame_tree {
	const struct flame_paths *paths; /* borrowed */
	VECTOR(struct flame_node) nodes; /* [0] is the root */
	uint32_t depth;			 /* of the deepest node */
	/* Nodes of fewer samples, of either side, are not there, nor is what is below them; what
	 * they hold is in total of their parents and not in self. */
	uint64_t min_total;
	uint64_t pruned;		      /* how many nodes that is */
	uint64_t pruned_samples[FLAME_SIDES]; /* and how many samples end in them */
};

struct flame_tree_options {
	uint64_t min_total; /* 0: 1, of everything there is */
	uint32_t nodes_max; /* min_total is doubled until no more are left; 0: FLAME_NODES_MAX */
};

#define FLAME_NODES_MAX (1u << 20)

/*
 * Make the tree of @paths, which outlive it. Holds no more nodes at any time than are left in the
 * end, and those on the way to one leaf. Cost: path_sort's.
 */
void flame_tree_make(const struct flame_paths *paths, const struct flame_tree_options *options,
		     struct flame_tree *ret);
void flame_tree_fini(struct flame_tree *tree);

/* Is a node there that is of_waker? Cost: O(nodes). */
bool flame_tree_has_wakers(const struct flame_tree *tree);

/*
 * The beginnings of the boxes of all nodes, in samples of @side: children one behind the other from
 * the beginning of their parent on. The caller frees the array [tree->nodes.nr].
 */
uint64_t *flame_tree_starts(const struct flame_tree *tree, unsigned side);
