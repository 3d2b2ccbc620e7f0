/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a pclntab, the table of functions that the run time of Go 1.18 and later has
 * (cmd/link/internal/ld/pcln.go writes it, runtime/symtab.go reads it).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "unwind/budget.h"

enum {
	GO_MAGIC_118 = 0xfffffff0u,
	GO_MAGIC_120 = 0xfffffff1u,
	GO_FUNCTAB_ENTRY = 8, /* offsets of a function's entry, and of its record */
	/* offsets in that record, struct _func of runtime/runtime2.go */
	GO_RECORD_NAME = 4,
	GO_RECORD_DEPTHS = 16,
	GO_RECORD_FILES = 20,
	GO_RECORD_LINES = 24,
	GO_RECORD_NR_VALUES = 28, /* tables of values by pc behind the record, data behind those */
	GO_RECORD_UNIT = 32,
	GO_RECORD_START_LINE = 36, /* since Go 1.20 */
};

/* Offsets count from the header, bytes[0]. */
struct go_table {
	uint8_t *section;     /* owned: the section it is in */
	const uint8_t *bytes; /* [size], in section: the table, to the end of that */
	size_t size;
	uint64_t vaddr, file_off; /* of the header */
	uint32_t magic;
	uint64_t nr_functions;
	uint64_t text; /* address of the first function; 0: not said here */
	/* names, units' files, files, values by pc, functions: each to the next one's beginning */
	uint64_t names_off, units_off, files_off, values_off, functions_off;
};

/* Find the table of @elf. Errors: -ENODATA none that is known; -EFBIG over the budget, -ENOMEM. */
FPL_MUST_CHECK int go_table_find(const struct elf_file *elf, struct budget *budget,
				 struct go_table *ret, struct fpl_err *err);
void go_table_fini(struct go_table *table);

/* Has @elf a section that such a table is in, whatever is in that? Cost: a look at its section
 * names. */
bool go_table_is_likely(const struct elf_file *elf);

/* The word at @off; 0 behind the end. */
uint32_t go_table_u32(const struct go_table *table, uint64_t off);

/* Offset of the single bytes of a record: id, flags, padding, number of data. */
static inline uint64_t go_table_record_bytes(const struct go_table *table)
{
	return table->magic == GO_MAGIC_118 ? 36 : 40;
}

/*
 * Returns the address of the first function by the run time's own record of the module, struct
 * moduledata, in .go.module; 0 without one. Since Go 1.26 the table does not say it. A file's
 * identity covers that section.
 */
uint64_t go_table_text(const struct elf_file *elf, const struct go_table *table);

/*
 * Returns the address that offsets of functions' data count from, by that record, whichever section
 * has it; 0 without one, or where its addresses are filled in when the program is loaded. Cost: up
 * to Go 1.25 a look at all data, 16 MiB a section at most.
 */
uint64_t go_table_data(const struct elf_file *elf, const struct go_table *table);
