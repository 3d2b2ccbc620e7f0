/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions in CFI, recognised by their result: an expression is evaluated over symbols (a
 * register plus a number, the word read there, the PLT's comparison), so any order of operations
 * that results in a form of the table is understood, with its own operands.
 */
#pragma once

#include "unwind/rows.h"

/*
 * Evaluate DW_CFA_def_cfa_expression: set the cfa fields of @row, to FPL_CFA_EXPR if the table has
 * no form for it.
 */
void cfa_expr_cfa(const uint8_t *bytes, size_t size, struct cfi_row *row);

/*
 * Evaluate DW_CFA_expression (@value false: the result is the register's address) or
 * DW_CFA_val_expression (@value true: its value); the CFA is on the stack at the start (DWARF 5,
 * section 6.4.2.3). CFI_EXPR if the table has no form for it.
 */
struct cfi_reg cfa_expr_reg(const uint8_t *bytes, size_t size, bool value);
