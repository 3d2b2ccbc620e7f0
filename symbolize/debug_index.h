/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to inlined functions, files and lines, from the debugging information of a file. Only
 * units that hold an address asked about are read, each once; the bytes are hostile: what makes no
 * sense costs the answers it would have given, and the work is linear in the size of the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "symbolize/symbol_place.h"

struct debug_index;

/* Does @elf have debugging information of its own? If not, debug_index_create() is -ENOENT. */
bool debug_index_has_info(const struct elf_file *elf);

struct debug_index_options {
	bool no_demangle;
};

/*
 * Prepare to read @elf. @supplement: what its .gnu_debugaltlink names, or NULL. Both have to stay.
 *
 * Errors: -ENOENT there is no debugging information; -EFBIG there is too much (DWARF_BYTES_MAX);
 * those of elf_file_section_bytes(); -ENOMEM.
 */
FPL_MUST_CHECK int debug_index_create(const struct elf_file *elf, const struct elf_file *supplement,
				      const struct debug_index_options *options,
				      struct debug_index **ret, struct fpl_err *err);
void debug_index_destroy(struct debug_index *index);

/*
 * Find the functions at @vaddr, the innermost first: how many of @ret [SYMBOL_LINES_MAX] are
 * filled, 0 where nothing is known; of more, those in the middle are left out. Their text is owned
 * by the index. A single one without a name has only a line.
 */
size_t debug_index_find(struct debug_index *index, uint64_t vaddr, struct symbol_line *ret);
