/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions without a symbol begin: at the start of their FDE. For readers who want one entry
 * per function of a stripped program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/symbolizer.h"
#include "unwind/function_list.h"

struct function_object {
	bool read;
	struct function_list list;
};

struct functions {
	struct symbolizer *symbolizer;	 /* borrowed */
	struct function_object *objects; /* owned [nr_objects], by id - 1 */
	size_t nr_objects;
};

/* @nr_objects: ids are 1..nr_objects. Errors: -ENOMEM. */
FPL_MUST_CHECK int functions_init(struct functions *functions, struct symbolizer *symbolizer,
				  size_t nr_objects);
void functions_fini(struct functions *functions);

/* There are more objects: ids are 1..@nr_objects. Errors: -ENOMEM. */
FPL_MUST_CHECK int functions_grow(struct functions *functions, size_t nr_objects);

/*
 * Find where the function of object @id begins that holds @vaddr and has no symbol: with what came
 * with the names, where that is known. Returns false where there is none.
 */
bool functions_find_start(struct functions *functions, uint32_t id, uint64_t vaddr, uint64_t *ret);

/*
 * Find the function of object @id that holds @vaddr: what its FDE covers. Returns false where none
 * does. Cost: the first question of an object lists its FDEs.
 */
bool functions_find(struct functions *functions, uint32_t id, uint64_t vaddr,
		    struct vaddr_range *ret);
