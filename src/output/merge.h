/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that read the same become one: what the folded and the text format print. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "output/names.h"

struct merged_stack {
	uint64_t count;
	const uint32_t *ids; /* borrowed [nr]: labels, then frames from the root to the leaf */
	uint32_t nr;
};

struct merged {
	struct merged_stack *stacks; /* owned [nr], ascending by count, ties by text */
	size_t nr;
	uint32_t *ids; /* owned: what the stacks point into; ids of names->strings */
};

/* Whose user frames. */
enum merge_walk {
	MERGE_CFI, /* profile_stack's user part */
	MERGE_FP,  /* the frame-pointer walk of the same samples */
};

/*
 * Name and merge every stack. @delimited puts "-" between user and kernel frames where a stack has
 * both. Errors: -ENOMEM. Cost: O(n log n) in stacks, times their depth.
 */
FPL_MUST_CHECK int merge_stacks(struct names *names, enum merge_walk walk, bool delimited,
				struct merged *ret, struct fpl_err *err);
void merged_fini(struct merged *merged);
