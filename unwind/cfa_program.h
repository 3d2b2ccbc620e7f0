/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of call frame instructions (DWARF 5, section 6.4.2, and the GNU extensions):
 * from a CIE and an FDE to exact rows.
 */
#pragma once

#include "unwind/eh_frame.h"
#include "unwind/rows.h"

/* DW_CFA_*: the first three carry their operand in the low six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
	/* Limit of remembered states: compilers nest one or two, gas sources a handful. */
	CFA_REMEMBER_MAX = 64,
	/* Stands for "no register yet" and for numbers above the general ones in cfa_reg. */
	CFA_REG_OTHER = 255,
};

/* Scratch of the interpreter, reused from FDE to FDE. */
struct cfa_machine {
	struct cfi_row row; /* the state; row.cfa is FPL_CFA_NONE until a CFA is defined */
	struct cfi_row remembered[CFA_REMEMBER_MAX];
	unsigned nr_remembered;
	struct budget *budget; /* borrowed */
};

/* Result of an FDE's program. */
enum cfa_outcome {
	CFA_OK,
	CFA_BAD, /* an instruction is malformed; there are rows up to *ret_end */
};

/*
 * Run the program of @fde and hand the rows that lie in [start, end), a part of the FDE's range,
 * to @fn, cut to it. Computes cie->initial when first needed.
 *
 * Returns enum cfa_outcome, a negative errno of the budget (-EFBIG), or @fn's result.
 * @ret_end: the first vaddr without a row; @end on success.
 */
FPL_MUST_CHECK int cfa_program_run(struct cfa_machine *machine, struct cfi_cie *cie,
				   const struct cfi_fde *fde, uint64_t start, uint64_t end,
				   cfi_row_fn fn, void *ctx, uint64_t *ret_end,
				   struct fpl_err *err);

/*
 * Compute cie->initial; mark the CIE bad if its instructions are malformed. Errors: -EFBIG over the
 * budget.
 */
FPL_MUST_CHECK int cfa_program_start(struct cfa_machine *machine, struct cfi_cie *cie,
				     struct fpl_err *err);
