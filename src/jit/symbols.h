/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that a loaded object exports, read from the memory of its process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/memory.h"

/* The tables of dynamic symbols, where they are loaded. */
struct jit_symbols {
	struct jit_memory *memory; /* borrowed */
	uint64_t base, symtab, strtab, hash;
	bool is_gnu; /* hash is DT_GNU_HASH, else DT_HASH */
};

/* Those of the object whose first byte is at @base. Errors: -ENOENT it has none, or is no ELF
 * file; -EFAULT they cannot be read. */
FPL_MUST_CHECK int jit_symbols_open(struct jit_memory *memory, uint64_t base,
				    struct jit_symbols *ret);

/* Find the address of the symbol @name; false: it is not exported. */
bool jit_symbol_find(const struct jit_symbols *symbols, const char *name, uint64_t *ret);
