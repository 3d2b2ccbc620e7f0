/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of frames of .jsonl of format 3: each function is described once, a frame of it
 * elsewhere is its offset, and the outer frames of a stack that an earlier one had are named by one
 * number. fpless-formats(5).
 */
#pragma once

#include "base/id_table.h"
#include "base/vector.h"
#include "recording/recording.h"
#include "view/frame_list.h"
#include "view/json.h"

/* A listed frame with all behind it; 0 stands for "nothing behind it". */
struct jsonl_tree_node {
	uint32_t outer; /* number of the node behind it */
	uint32_t frame; /* as numbers are indexed */
	uint32_t place; /* among all listed frames, from 1 on */
};

struct jsonl_tree_writer {
	const struct recording *recording; /* borrowed */
	const struct frame_list *frames;   /* borrowed: their texts */
	/* The number of each frame, and of each as the leaf of the kernel, which is exact; 0: it
	 * was not written yet. Owned [2 * nr_frames]. */
	uint32_t *numbers;
	uint32_t nr_numbers, nr_places;
	VECTOR(uint32_t) described; /* frames written as objects, in their order */
	struct id_table alike;	    /* indexes of described, by all but address and line */
	VECTOR(struct jsonl_tree_node) nodes; /* node 0 is unused */
	struct id_table children;	      /* nodes by outer and frame */
};

/* @recording and @frames outlive @ret. */
void jsonl_tree_writer_init(const struct recording *recording, const struct frame_list *frames,
			    struct jsonl_tree_writer *ret);
void jsonl_tree_writer_fini(struct jsonl_tree_writer *writer);

/*
 * Write the members @key and @rest_key of the frames @ids [@nr], leaf first, of one kind. Cost:
 * O(nr).
 */
void jsonl_tree_write(struct jsonl_tree_writer *writer, struct json *json, const char *key,
		      const char *rest_key, const uint32_t *ids, size_t nr);
