/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a Go program that has no symbols: its run time's own table, the pclntab, is in every Go
 * program, and strip keeps it (unwind/go_pclntab.h; decision 0012).
 */
#pragma once

#include "base/err.h"
#include "obj/elf_file.h"

struct symtab;

/*
 * Add the functions of @elf to @tab, its symbols, unless @elf has a .symtab or no such table.
 * Errors: -ENOMEM. A table over the limits of unwind tables has no names. Cost: reads the table and
 * the code of the functions.
 */
FPL_MUST_CHECK int worker_go_names(struct symtab *tab, const struct elf_file *elf);
