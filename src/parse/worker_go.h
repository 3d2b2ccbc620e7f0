/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines of a Go program without symbols or debugging information: its run time's own
 * table, the pclntab, is in every Go program, and strip keeps it (unwind/go_lines.h; decision
 * 0012).
 */
#pragma once

#include "unwind/go_lines.h"

struct symtab;

/*
 * Read the table of @elf into @lines, unless that has it already. Errors: -ENOENT @elf has no table
 * of Go; those of go_lines_open().
 */
FPL_MUST_CHECK int worker_go_open(const struct elf_file *elf, struct go_lines **lines,
				  struct fpl_err *err);

/*
 * Add the functions of @elf to @tab, its symbols, unless @elf has a .symtab or no such table. The
 * table stays in @lines, if there is one. Errors: -ENOMEM. A table over the limits of unwind tables
 * has no names.
 */
FPL_MUST_CHECK int worker_go_names(const struct elf_file *elf, struct go_lines **lines,
				   struct symtab *tab);
