/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GDB's JIT interface: a run time that makes code exports __jit_debug_descriptor, the head of a
 * list of what it says of that code, the newest first. What an entry leads to is an ELF file, or
 * has a form of the run time's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/memory.h"

#define JIT_LIST_MAX (1u << 16) /* entries that are read */

struct jit_list {
	struct jit_memory *memory; /* borrowed */
	uint64_t next;		   /* address of the next entry; 0: none */
	uint32_t left;
};

/*
 * Begin with the list of the run time that is loaded at @base. Errors: -ENOENT it exports none;
 * -EFAULT its memory cannot be read.
 */
FPL_MUST_CHECK int jit_list_open(struct jit_memory *memory, uint64_t base, struct jit_list *ret);

/* Read the next entry: @ret_size bytes at @ret_addr. False: the list ends, or cannot be read. */
bool jit_list_next(struct jit_list *list, uint64_t *ret_addr, uint64_t *ret_size);
