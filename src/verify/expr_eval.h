/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions as libdw decodes them, evaluated on a made-up machine. Written for the oracle
 * alone: it shares nothing with the reader that recognises expressions for the tables.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/err.h"
#include "verify/machine.h"

/* The kind of an expression's result (DWARF 5, section 2.6). */
enum expr_kind {
	EXPR_ADDRESS,  /* the object is in memory at `number` */
	EXPR_VALUE,    /* the object is `number`: DW_OP_stack_value */
	EXPR_REGISTER, /* the object is in register `number` */
};

struct expr_result {
	enum expr_kind kind;
	uint64_t number;
};

/*
 * Evaluate @ops[@nr_ops] on @machine. @cfa: the value that DW_OP_call_frame_cfa pushes, NULL: not
 * known yet. Register 16 is the program counter.
 *
 * Errors: -EOPNOTSUPP an operation not allowed in CFI (DWARF 5, section 6.4.2); -EINVAL operands
 * missing, a branch to no operation, division by zero; -EOVERFLOW more than 64 values or 65,536
 * steps.
 */
FPL_MUST_CHECK int expr_eval(const Dwarf_Op *ops, size_t nr_ops, const struct machine *machine,
			     const uint64_t *cfa, struct expr_result *ret);
