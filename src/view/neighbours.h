/* SPDX-License-Identifier: Apache-2.0 */
/* The callers of a function, and its callees: for readers, as an entry of gprof's call graph. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "view/function_index.h"

/*
 * Write an entry for each of @functions [nr], at most NEIGHBOURS_FUNCTIONS_MAX: its callers,
 * itself, its callees, each with the share of @sum, of what is shown, in which the one calls the
 * other, a recursion counted once. Cost: O(nr x frames of all stacks).
 */
#define NEIGHBOURS_FUNCTIONS_MAX 8u

void neighbours_write(FILE *to, const struct function_index *index, const uint32_t *functions,
		      size_t nr, uint64_t sum);
