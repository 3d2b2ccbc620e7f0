/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/row_eval.h"

#include <string.h>

enum {
	SP = 7,
	/* rbx, rbp, rsp, r12 to r15, and the return address (psABI, figure 3.4) */
	PRESERVED = 1 << 3 | 1 << 6 | 1 << SP | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 | 1 << CFI_RA,
};

static bool row_cfa(const struct cfi_row *row, const struct machine *machine, uint64_t *ret)
{
	uint64_t base = machine->reg[row->cfa_reg & 15] + (uint64_t)row->cfa_off;

	switch (row->cfa) {
	case FPL_CFA_REG:
		*ret = base;
		return true;
	case FPL_CFA_DEREF:
		*ret = machine_read(machine, base, 8) + (uint64_t)row->cfa_off2;
		return true;
	case FPL_CFA_INDEX:
		base += 8 * machine->reg[row->cfa_reg2 & 15];
		*ret = machine_read(machine, base, 8) + (uint64_t)row->cfa_off2;
		return true;
	case FPL_CFA_PLT:
		*ret = base + ((machine->pc & 15) >= row->cfa_reg2 ? 8 : 0);
		return true;
	default:
		return false;
	}
}

static struct caller_value reg_value(const struct cfi_reg *reg, const struct machine *machine,
				     uint64_t cfa, uint64_t same)
{
	uint64_t off = (uint64_t)reg->off;
	uint64_t base = machine->reg[reg->reg & 15] + off;

	switch (reg->kind) {
	case CFI_SAME:
		return (struct caller_value){ CALLER_VALUE, same };
	case CFI_UNDEF:
		return (struct caller_value){ .kind = CALLER_UNDEF };
	case CFI_AT_CFA:
		return (struct caller_value){ CALLER_VALUE, machine_read(machine, cfa + off, 8) };
	case CFI_AT_REG:
		return (struct caller_value){ CALLER_VALUE, machine_read(machine, base, 8) };
	case CFI_VAL_CFA:
		return (struct caller_value){ CALLER_VALUE, cfa + off };
	case CFI_VAL_REG:
		return (struct caller_value){ CALLER_VALUE, base };
	case CFI_VAL_PC:
		return (struct caller_value){ CALLER_VALUE, machine->pc + off };
	default:
		return (struct caller_value){ .kind = CALLER_EXPR };
	}
}

void row_eval(const struct cfi_row *row, const struct machine *machine, struct caller *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->signal = row->signal;
	if (!row_cfa(row, machine, &ret->cfa)) {
		ret->status = CALLER_GIVEN_UP;
		return;
	}
	ret->status = CALLER_FOUND;
	for (unsigned int i = 0; i < CFI_NR_REGS; i++) {
		uint64_t same = i == SP ? ret->cfa : i == CFI_RA ? machine->pc : machine->reg[i];

		/*
		 * for a register that a callee may change, "unchanged" is the default of silent CFI
		 */
		if (row->reg[i].kind == CFI_SAME && !((PRESERVED >> i) & 1))
			continue;
		ret->reg[i] = reg_value(&row->reg[i], machine, ret->cfa, same);
	}
}
