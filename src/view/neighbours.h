/* SPDX-License-Identifier: Apache-2.0 */
/* The callers of a function, and its callees: for readers, as an entry of gprof's call graph. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "view/function_index.h"
#include "view/json.h"

/*
 * Write an entry for each of @functions [nr], at most NEIGHBOURS_FUNCTIONS_MAX: its callers,
 * itself, its callees, each with the share of @sum, of what is shown, in which the one calls the
 * other, a recursion counted once. Cost: O(nr x frames of all stacks).
 */
#define NEIGHBOURS_FUNCTIONS_MAX 8u

void neighbours_write(FILE *to, const struct function_index *index, const uint32_t *functions,
		      size_t nr, uint64_t sum);

/*
 * The same as the member @key of the object that is open: an array of objects with function,
 * object, self, total, outermost (of total, without a caller), callers and callees, of which there
 * are 20 at most.
 */
void neighbours_json(struct json *json, const char *key, const struct function_index *index,
		     const uint32_t *functions, size_t nr);
