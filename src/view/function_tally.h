/* SPDX-License-Identifier: Apache-2.0 */
/* How much of what is shown each function of a recording has: those of who ended a wait have none
 * of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "view/function_index.h"
#include "view/measure.h"
#include "view/stack_slots.h"

/* How often a function ran, or how much of what is shown it has. */
struct function_tally {
	uint64_t self, total;
};

struct function_tallies {
	const struct function_index *index; /* borrowed */
	const struct measure *measure;	    /* borrowed */
	struct function_tally *list;	    /* owned [index->functions.nr] */
	size_t nr; /* functions of stacks: others are of who ended waits alone */

	/* private */
	struct stack_slots slots; /* of the stack at hand */
	uint32_t *last_stack;	  /* owned: index + 1 of the stack that counted it last: recursion
				   * counts once; 0: none has */
};

/* Cost: O(frames of all stacks). */
void function_tallies_init(const struct function_index *index, const struct measure *measure,
			   struct function_tallies *ret);
void function_tallies_fini(struct function_tallies *tallies);

/*
 * The functions with the most of their own, those first, to @ret [@max]. Returns how many they are.
 * Cost: O(functions x @max) at most.
 */
size_t function_tallies_hottest(const struct function_tallies *tallies, uint32_t *ret, size_t max);
