/* SPDX-License-Identifier: Apache-2.0 */
/* fpless finds this in one ELF file: its unwind table, symbols and debug information. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "parse/coverage.h"
#include "unwind/table.h"

/* Flat: it goes from process to process as it is. */
struct examination {
	char build_id[2 * ELF_FILE_BUILD_ID_MAX + 1]; /* hex; "" none */

	/* the unwind table; without one problem says why and stats is zero */
	char problem[380];
	bool has_table;
	bool measured; /* coverage holds */
	struct table_stats stats;
	struct coverage coverage;

	/* code symbols, by where they stand */
	bool has_symtab, has_dynsym, has_mini_debug, has_debug_symtab, has_go_names;
	bool has_debug_info;	/* in the file itself */
	bool debug_has_info;	/* its debug file holds .debug_info, not just symbols */
	bool has_script_frames; /* an interpreter whose scripts' functions can be shown */
	bool names_compiled;	/* and so can those that it compiles while it runs */
	size_t nr_symbols;	/* all of them, PLT entries too */
};

/*
 * Examine @elf with @debug, its separate debug file (may be NULL). A part of the file that makes no
 * sense is said in *ret, not an error. Errors: -ENOMEM. Cost: compiles the table.
 */
FPL_MUST_CHECK int examine(const struct elf_file *elf, const struct elf_file *debug,
			   struct examination *ret, struct fpl_err *err);

/* Is this one, whoever made it: may all of it be used? Only its numbers may say anything. */
bool examination_check(const struct examination *examination);
