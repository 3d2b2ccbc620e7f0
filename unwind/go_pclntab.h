/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a Go program as its own run time knows them: the pclntab of Go 1.18 and later
 * (cmd/link/internal/ld/pcln.go writes it, runtime/symtab.go reads it), which strip leaves alone.
 * For every function it says how deep the stack is at each pc, and whether a stack ends there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "unwind/budget.h"
#include "unwind/go_way.h"

/* How the frames of a function are found. */
enum go_kind {
	GO_PLAIN,     /* by the depth of the stack */
	GO_OUTERMOST, /* it has no caller: marked TOPFRAME, or where the program begins */
	GO_SWITCH,    /* marked SPWRITE: it leaves its stack for another one */
	GO_SIGRETURN, /* what a signal handler returns to */
};

struct go_function {
	uint64_t start, end; /* vaddr */
	uint32_t depths;     /* of its table of depths, from the first of all of them; 0: none */
	uint8_t kind;	     /* enum go_kind */
	bool is_asm;	     /* written in assembly: registers may be its caller's, or not */
	bool keeps_g;	     /* assembly that does not write r14, where Go has its g */
};

/* All functions of one file. The table and the code are kept: rows are made from them one by one.
 */
struct go_functions {
	struct go_function *list; /* owned [nr], ascending, disjoint; NULL: none */
	size_t nr;
	uint8_t *bytes;	       /* owned: the section the table is in */
	const uint8_t *depths; /* in bytes: [depths_size] */
	size_t depths_size;
	uint8_t *code; /* owned: the bytes of the functions, [code_size] from code_start on */
	uint64_t code_start, code_size;
	uint64_t nr_bad; /* functions left out: malformed */
	struct go_layout layout;
};

/*
 * Read the table of @elf. It is no error where there is none, or one that does not hold together or
 * is of another version: nr is 0 then.
 *
 * Whether the functions are where the table seems to say is judged by their code: at least half of
 * those that were compiled and have a frame must save the frame pointer where the table says that
 * the stack gets deeper.
 *
 * Errors: -EFBIG over the budget, -ENOMEM. Cost: reads the table and the code of the functions.
 */
FPL_MUST_CHECK int go_functions_read(const struct elf_file *elf, struct budget *budget,
				     struct go_functions *ret, struct fpl_err *err);
void go_functions_fini(struct go_functions *functions);

/* The code of @function, function->end - function->start bytes. */
const uint8_t *go_function_code(const struct go_functions *functions,
				const struct go_function *function);
