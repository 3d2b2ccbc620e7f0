/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of frames of .jsonl of formats 2 and 3 (jsonl_tree_write.h), as hostile bytes. */
#pragma once

#include "base/vector.h"
#include "format/jsonl_value.h"

/* A listed frame with those behind it: frame_ids[first .. first + nr) of the recording. */
struct jsonl_tree_place {
	uint32_t first;
	uint16_t nr;
};

struct jsonl_tree_reader {
	bool has_alike;				/* format 3: frames like others */
	VECTOR(uint32_t) frames;		/* of the recording, by number less 1 */
	VECTOR(uint32_t) described;		/* those written as objects, by number less 1 */
	VECTOR(struct jsonl_tree_place) places; /* by number less 1 */
	size_t nr_listed[2];			/* of the line at hand: user, kernel */
};

void jsonl_tree_reader_fini(struct jsonl_tree_reader *reader);

/*
 * Put the frames of @kind that the stack @object lists, and those behind them, behind the frames at
 * hand. Numbers lead to what came before. Returns how many frames they are.
 */
uint16_t jsonl_tree_read(struct jsonl_tree_reader *reader, struct reading *reading,
			 json_object *object, enum recording_kind kind);

/* The stack whose frames were read last was added to the recording: number what it listed. */
void jsonl_tree_added(struct jsonl_tree_reader *reader, const struct recording_stack *stack);
