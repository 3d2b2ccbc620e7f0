/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a file according to its FDEs, or to Go's own table: for code without symbols. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"

struct function_list {
	struct vaddr_range *ranges; /* owned [nr], ascending start; they may overlap */
	size_t nr, room;
};

/*
 * List the functions of @elf and @debug, its separate debug file (may be NULL). On failure *ret
 * holds those read so far. Errors: as cfi_fdes_for_each().
 */
FPL_MUST_CHECK int function_list_read(const struct elf_file *elf, const struct elf_file *debug,
				      struct function_list *ret, struct fpl_err *err);
void function_list_fini(struct function_list *list);

/* Find the function that holds @vaddr; of several the one that starts last. Cost: O(log n). */
bool function_list_find(const struct function_list *list, uint64_t vaddr, struct vaddr_range *ret);

/* Narrow @same, which holds @vaddr, to addresses with the same answer of function_list_find(). */
void function_list_narrow(const struct function_list *list, uint64_t vaddr,
			  struct vaddr_range *same);
