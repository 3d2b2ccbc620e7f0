/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that read the same become one: what the folded and the text format print. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "recording/recording.h"
#include "view/frame_texts.h"

struct merged_stack {
	uint64_t count;
	size_t first; /* ids[first .. + nr): labels, then frames from the root to the leaf */
	uint32_t nr, nr_labels;
	uint32_t elided; /* the most frames that were left out of one that was merged */
};

struct merged {
	VECTOR(struct merged_stack) stacks; /* in no order */
	VECTOR(uint32_t) ids;		    /* of strings of the frame_texts */
	const struct strings *strings;	    /* borrowed */
};

/* Whose user frames. */
enum merge_walk {
	MERGE_CFI, /* the user part of a stack */
	MERGE_FP,  /* the frame-pointer walk of the same samples */
};

/*
 * Merge every stack of the recording of @texts, whose strings get the labels. @delimited puts "-"
 * between user and kernel frames where a stack has both. Cost:
 * O(frames of all stacks).
 */
void merge_stacks(struct frame_texts *texts, enum merge_walk walk, bool delimited,
		  struct merged *ret);
void merged_fini(struct merged *merged);

/* Sum of the counts. */
uint64_t merged_samples(const struct merged *merged);

/*
 * The stacks ascending by count, ties by text: their indexes [nr], owned by the caller. Cost:
 * O(n log n).
 */
uint32_t *merged_order(const struct merged *merged);

/*
 * The last @nr_max in that order, the last first, to @ret. Returns how many they are. Cost: O(n)
 * where few of those before outdo those so far, O(n * @nr_max) at most.
 */
size_t merged_hottest(const struct merged *merged, uint32_t *ret, size_t nr_max);
