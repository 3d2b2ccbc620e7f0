/* SPDX-License-Identifier: Apache-2.0 */
/* Puts symbols into a symbol table. */
#pragma once

#include "symbolize/symtab_table.h"

/* Add one symbol. Errors: -EFBIG over SYMTAB_SYMBOLS_MAX, -ENOMEM. */
FPL_MUST_CHECK int symtab_push(struct symtab *tab, const struct symtab_symbol *symbol);

/*
 * A place of names: @size bytes of @elf, which must outlive the table, from offset @off on. Returns
 * its number for symtab_add_function(). Errors: -ENOSPC SYMTAB_SOURCES_MAX are there.
 */
FPL_MUST_CHECK int symtab_add_names(struct symtab *tab, const struct elf_file *elf, uint64_t off,
				    uint64_t size);

/*
 * Add a function of @size bytes at @vaddr. Its name, with a NUL behind it, is at @name_off of the
 * names @source. What is no code of the object is left out. Errors: as symtab_push().
 */
FPL_MUST_CHECK int symtab_add_function(struct symtab *tab, int source, uint64_t vaddr,
				       uint64_t size, uint32_t name_off);

/* Sort what was added and settle what covers what: only then symtab_find sees it. */
FPL_MUST_CHECK int symtab_arrange(struct symtab *tab);
