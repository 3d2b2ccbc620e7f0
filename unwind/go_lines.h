/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and inlined functions of a Go program from its run time's own table, as runtime/symtab.go
 * and runtime/symtabinl.go read it: it is there where debug information was stripped.
 */
#pragma once

#include "unwind/go_pclntab.h"

struct go_lines;

/* A function at an address, and the line it runs there. Texts are owned by the lines. */
struct go_place {
	const char *name, *file;   /* NULL: unknown */
	uint32_t line, start_line; /* of the address, of the function; 0: unknown */
};

/*
 * Read them; @elf must outlive them. Errors: -ENODATA there is no table; -EFBIG over the budget;
 * -ENOMEM. Cost: as go_functions_list().
 */
FPL_MUST_CHECK int go_lines_open(const struct elf_file *elf, struct budget *budget,
				 struct go_lines **ret, struct fpl_err *err);
void go_lines_close(struct go_lines *lines);

/* The functions that they are of, without their code. */
const struct go_functions *go_lines_functions(const struct go_lines *lines);

/* The offset of the name of @function behind table.names_off. */
static inline uint32_t go_lines_name(const struct go_functions *functions,
				     const struct go_function *function)
{
	return go_table_u32(&functions->table,
			    functions->table.functions_off + function->record + GO_RECORD_NAME);
}

/*
 * Find the functions at @vaddr, the innermost first: how many of @ret [@nr_max] are filled. 0:
 * none is there, or what was inlined there cannot be read. Cost: linear in the function's table.
 */
size_t go_lines_find(const struct go_lines *lines, uint64_t vaddr, struct go_place *ret,
		     size_t nr_max);
