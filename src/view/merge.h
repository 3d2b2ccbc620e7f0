/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that read the same become one: what the folded and the text format print. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "view/frame_texts.h"
#include "view/sequences.h"
#include "view/stack_slots.h"

struct merged_stack {
	uint64_t shown;	 /* count or weight, as view/measure.h says */
	uint32_t elided; /* the most frames that were left out of one that was merged */
};

struct merged {
	struct sequences lines;		    /* of texts, ids of strings of the frame_texts */
	VECTOR(struct merged_stack) stacks; /* [lines.nr] */
	const struct strings *strings;	    /* borrowed */
};

/*
 * Merge every stack of the recording of @texts, whose strings get the labels. @delimited puts "-"
 * between user and kernel frames where a stack has both. Cost:
 * O(frames of all stacks).
 */
void merge_stacks(struct frame_texts *texts, enum merge_walk walk, bool delimited,
		  struct merged *ret);
void merged_fini(struct merged *merged);

/* Sum of what is shown. */
uint64_t merged_sum(const struct merged *merged);

/*
 * The stacks ascending by what is shown, ties by text: their indexes [nr], owned by the caller.
 * Cost: O(n log n).
 */
uint32_t *merged_order(const struct merged *merged);

/*
 * The last @nr_max in that order, the last first, to @ret. Returns how many they are. Cost: O(n)
 * where few of those before outdo those so far, O(n * @nr_max) at most.
 */
size_t merged_hottest(const struct merged *merged, uint32_t *ret, size_t nr_max);
