/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a file's code its unwind rows cover, and which functions they leave out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "symbolize/symtab.h"
#include "unwind/rows.h"

#define COVERAGE_LARGEST 5u

#define COVERAGE_NAME_MAX 512u

/* A function without a row at its first byte. */
struct bare_function {
	char name[COVERAGE_NAME_MAX]; /* demangled, cut where it is longer; "" memory ran out */
	uint64_t vaddr, size;
};

/*
 * Bytes of code: of executable sections where the file has section headers, else of executable
 * PT_LOADs. code = covered + padding + bare. Flat: it goes from process to process as it is.
 */
struct coverage {
	uint64_t code_bytes;
	uint64_t covered_bytes; /* have a row */
	uint64_t padding_bytes; /* have none: nops and int3 at the start of a gap */
	uint64_t bare_bytes;	/* have none, and are anything else */
	uint64_t source_bytes[CFI_SOURCE_COUNT]; /* covered, by where the row is from */
	uint64_t expr_bytes;			 /* covered by rows outside the tables' rules */

	size_t nr_functions; /* distinct start addresses of code symbols, PLT entries left out */
	size_t nr_bare;	     /* of them without a row at their first byte */
	struct bare_function largest[COVERAGE_LARGEST]; /* [nr_largest], by size, descending */
	size_t nr_largest;
};

/*
 * Measure @elf with @debug, its separate debug file (may be NULL), and @tab, its symbols. Code
 * without any CFI is no error: nothing is covered then.
 *
 * Errors: those of cfi_rows_for_each() but -ENODATA; -ENOMEM. Cost: decodes all CFI; reads the
 * bytes of the gaps.
 */
FPL_MUST_CHECK int coverage_measure(const struct elf_file *elf, const struct elf_file *debug,
				    const struct symtab *tab, struct coverage *ret,
				    struct fpl_err *err);
