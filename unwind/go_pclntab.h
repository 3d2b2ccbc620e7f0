/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a Go program from its run time's own table, which strip keeps
 * (unwind/go_table.h). It holds for every function the stack depth at each pc, and whether a stack
 * ends there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "unwind/budget.h"
#include "unwind/go_table.h"
#include "unwind/go_way.h"

/* How the frames of a function are found. */
enum go_kind {
	GO_PLAIN,     /* by the depth of the stack */
	GO_OUTERMOST, /* it has no caller: marked TOPFRAME, or the program's entry */
	GO_SWITCH,    /* marked SPWRITE: it leaves its stack for another one */
	GO_SIGRETURN, /* what a signal handler returns to */
};

struct go_function {
	uint64_t start, end; /* vaddr */
	uint32_t depths;     /* offset of its table of depths among all of them; 0: none */
	uint32_t record;     /* offset of its record behind table.functions_off */
	uint8_t kind;	     /* enum go_kind */
	bool is_asm;	     /* written in assembly: registers may or may not be its caller's */
	bool keeps_g;	     /* assembly that does not write r14, Go's register for g */
};

/* All functions of one file. The table and the code are kept: rows are made from them one by one.
 */
struct go_functions {
	struct go_function *list; /* owned [nr], ascending, disjoint; NULL: none */
	size_t nr;
	struct go_table table;
	uint8_t *code; /* owned: the bytes of the functions, [code_size] from code_start on */
	uint64_t code_start, code_size;
	uint64_t nr_bad; /* functions left out: malformed */
	struct go_layout layout;
};

/*
 * Read the table of @elf. A missing or inconsistent table, or one of another version, is no error:
 * nr is 0 then.
 *
 * The functions' code must agree with the table's addresses: at least half of the compiled
 * functions with a frame must save the frame pointer where the table says that the stack gets
 * deeper.
 *
 * Errors: -EFBIG over the budget, -ENOMEM. Cost: reads the table and the code of the functions.
 */
FPL_MUST_CHECK int go_functions_read(const struct elf_file *elf, struct budget *budget,
				     struct go_functions *ret, struct fpl_err *err);

/* The same for names alone: each kind is GO_PLAIN, and neither keeps_g nor the layout is known. */
FPL_MUST_CHECK int go_functions_list(const struct elf_file *elf, struct budget *budget,
				     struct go_functions *ret, struct fpl_err *err);
void go_functions_fini(struct go_functions *functions);

/* The code of @function, function->end - function->start bytes. */
const uint8_t *go_function_code(const struct go_functions *functions,
				const struct go_function *function);
