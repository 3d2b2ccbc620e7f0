/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the symbol table of an object. */
#pragma once

#include "symbolize/symtab.h"

/*
 * Read the symbols of @elf and of each of the @nr_debug files @debug, which must outlive the table.
 * No symbols at all is no error.
 *
 * Kept are defined STT_FUNC and STT_GNU_IFUNC symbols and untyped ones inside executable segments;
 * an untyped or unsized symbol inside a sized function is dropped: the function is the name. An
 * unsized symbol elsewhere reaches to the next symbol or the end of its segment.
 *
 * Errors: -EINVAL or -ENODATA a symbol table that does not hold together (message says which; the
 * others are used: only where nothing could be read is it returned); -ENOMEM.
 * Cost: O(n log n), n at most SYMTAB_SYMBOLS_MAX.
 */
/*
 * The same of variables: defined STT_OBJECT symbols with a size, in segments that are not
 * executable.
 */
FPL_MUST_CHECK int symtab_create_data(const struct elf_file *elf,
				      const struct elf_file *const *debug, size_t nr_debug,
				      struct symtab **ret, struct fpl_err *err);
FPL_MUST_CHECK int symtab_create(const struct elf_file *elf, const struct elf_file *const *debug,
				 size_t nr_debug, struct symtab **ret, struct fpl_err *err);
