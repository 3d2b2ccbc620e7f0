/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions in CFI, recognised by what they compute: an expression is evaluated over
 * symbols (a register plus a number, the word read there, the PLT's comparison), so any order of
 * operations that comes to a form the table knows is understood, with its own operands.
 */
#pragma once

#include "unwind/rows.h"

/*
 * What DW_CFA_def_cfa_expression says of the CFA: sets the cfa fields of @row, FPL_CFA_EXPR where
 * the table has no form for it.
 */
void cfa_expr_cfa(const uint8_t *bytes, size_t size, struct cfi_row *row);

/*
 * What DW_CFA_expression (@value false: the expression computes where the register is) or
 * DW_CFA_val_expression (@value true: what it is) says; the CFA is on the stack at the start
 * (DWARF 5, section 6.4.2.3). CFI_EXPR where the table has no form for it.
 */
struct cfi_reg cfa_expr_reg(const uint8_t *bytes, size_t size, bool value);
