/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfa_program.h"

#include "unwind/arch_x86_64.h"
#include "unwind/cfa_expr.h"

enum { CHECK_EVERY_ROWS = 4096, CHECK_EVERY_INSTRUCTIONS = 65536 };

/* One run of one program. */
struct run {
	struct cfa_machine *machine;
	const struct cfi_cie *cie;
	struct cursor c;
	bool initial;	     /* a CIE's instructions: no pc, nothing to restore to */
	uint64_t pc;	     /* where the row being built begins */
	uint64_t start, end; /* what is wanted */
	uint64_t func_vaddr; /* start of the FDE */
	cfi_row_fn fn;
	void *ctx;
};

/* Index into cfi_row.reg of a column; -1: a register the walker does not keep. */
static int reg_index(const struct cfi_cie *cie, uint64_t column)
{
	if (column == cie->ra_column)
		return CFI_RA;
	return column < FPL_NR_REGS ? (int)column : -1;
}

static void set_reg(struct run *run, uint64_t column, uint8_t kind, uint64_t reg, int64_t off)
{
	int idx = reg_index(run->cie, column);

	if (idx < 0)
		return;
	if (reg >= FPL_NR_REGS) {
		kind = CFI_EXPR; /* in a vector register, say */
		reg = 0;
	}
	if (off != (int32_t)off) {
		kind = CFI_EXPR; /* no frame is that large */
		off = 0;
	}
	run->machine->row.reg[idx] =
		(struct cfi_reg){ .kind = kind, .reg = (uint8_t)reg, .off = (int32_t)off };
}

/* "Unchanged" must be explicit for registers the ABI lets a callee change: each is in itself. */
static void set_same(struct run *run, uint64_t column)
{
	if (column < FPL_NR_REGS && column != ARCH_SP && !(ARCH_CALLEE_SAVED >> column & 1))
		set_reg(run, column, CFI_VAL_REG, column, 0);
	else if (column == ARCH_RA_COLUMN)
		set_reg(run, column, CFI_AT_CFA, 0, ARCH_RA_OFF);
	else
		set_reg(run, column, CFI_SAME, 0, 0);
}

static void restore_reg(struct run *run, uint64_t column)
{
	int idx = reg_index(run->cie, column);

	if (run->initial)
		run->c.bad = true;
	else if (idx >= 0)
		run->machine->row.reg[idx] = run->cie->initial.reg[idx];
}

static void def_cfa_reg(struct run *run, uint64_t reg)
{
	struct cfi_row *row = &run->machine->row;

	/*
	 * Only a CFA of register plus offset has a register to change; without a CFA the offset is
	 * 0.
	 */
	if (row->cfa != FPL_CFA_REG && row->cfa != FPL_CFA_NONE)
		run->c.bad = true;
	row->cfa = FPL_CFA_REG;
	row->cfa_reg = reg < FPL_NR_REGS ? (uint8_t)reg : CFA_REG_OTHER;
}

static void def_cfa_off(struct run *run, int64_t off)
{
	if (run->machine->row.cfa != FPL_CFA_REG)
		run->c.bad = true;
	run->machine->row.cfa_off = off;
}

static void def_cfa(struct run *run, uint64_t reg, int64_t off)
{
	struct cfi_row *row = &run->machine->row;

	row->cfa = FPL_CFA_REG;
	row->cfa_reg = reg < FPL_NR_REGS ? (uint8_t)reg : CFA_REG_OTHER;
	row->cfa_reg2 = 0;
	row->cfa_off = off;
	row->cfa_off2 = 0;
}

/* @factor times the CIE's data alignment. */
static int64_t factored(struct run *run, int64_t factor)
{
	int64_t off;

	run->c.bad |= __builtin_mul_overflow(factor, run->cie->data_align, &off);
	return off;
}

static int64_t factored_u(struct run *run, uint64_t factor)
{
	run->c.bad |= factor > INT64_MAX;
	return factored(run, (int64_t)factor);
}

static int64_t negated(struct run *run, int64_t off)
{
	run->c.bad |= __builtin_sub_overflow(0, off, &off);
	return off;
}

static void remember(struct run *run)
{
	struct cfa_machine *machine = run->machine;

	if (machine->nr_remembered == CFA_REMEMBER_MAX) {
		run->c.bad = true;
		return;
	}
	machine->remembered[machine->nr_remembered++] = machine->row;
}

static void restore(struct run *run)
{
	struct cfa_machine *machine = run->machine;

	if (machine->nr_remembered == 0) {
		run->c.bad = true;
		return;
	}
	machine->row = machine->remembered[--machine->nr_remembered];
}

static void set_expression(struct run *run, uint64_t column, bool value)
{
	uint64_t size = cursor_uleb(&run->c);
	const uint8_t *bytes = cursor_skip(&run->c, size);

	if (!bytes)
		return;

	struct cfi_reg rule = cfa_expr_reg(bytes, (size_t)size, value);

	set_reg(run, column, rule.kind, rule.reg, rule.off);
}

static void def_cfa_expression(struct run *run)
{
	uint64_t size = cursor_uleb(&run->c);
	const uint8_t *bytes = cursor_skip(&run->c, size);

	if (bytes)
		cfa_expr_cfa(bytes, (size_t)size, &run->machine->row);
}

/* The row for its users: no undefined CFA, the return address resolved. */
static struct cfi_row finished_row(const struct run *run, uint64_t start, uint64_t end)
{
	struct cfi_row row = run->machine->row;

	row.start = start;
	row.end = end;
	row.source = run->cie->section->source;
	row.signal = run->cie->signal;
	if (row.cfa == FPL_CFA_NONE || row.cfa_reg == CFA_REG_OTHER) {
		row.cfa = FPL_CFA_EXPR;
		row.cfa_reg = 0;
		row.cfa_off = 0;
	}
	if (row.reg[CFI_RA].kind == CFI_SAME) {
		uint64_t column = run->cie->ra_column;

		/* A return address that stays in a general register. */
		row.reg[CFI_RA] = column < FPL_NR_REGS ? (struct cfi_reg){ .kind = CFI_VAL_REG,
									   .reg = (uint8_t)column }
						       : (struct cfi_reg){ .kind = CFI_EXPR };
	}
	return row;
}

/*
 * Hand over the row that ends at @to, if any part of it is wanted. Returns the callback's result,
 * or the budget's error.
 */
static int emit(struct run *run, uint64_t to, struct fpl_err *err)
{
	uint64_t start = run->pc > run->start ? run->pc : run->start;
	uint64_t end = to < run->end ? to : run->end;
	struct budget *budget = run->machine->budget;

	run->pc = to;
	if (start >= end)
		return 0;
	if (++budget->rows % CHECK_EVERY_ROWS == 0 || budget->rows > budget->limits->rows) {
		int code = budget_check(budget, err);

		if (code)
			return code;
	}

	struct cfi_row row = finished_row(run, start, end);

	return run->fn(&row, run->ctx);
}

static int advance(struct run *run, uint64_t delta, struct fpl_err *err)
{
	uint64_t to;

	if (run->initial || __builtin_mul_overflow(delta, run->cie->code_align, &delta) ||
	    __builtin_add_overflow(run->pc, delta, &to)) {
		run->c.bad = true;
		return 0;
	}
	return emit(run, to, err);
}

static int set_loc(struct run *run, struct fpl_err *err)
{
	const struct cfi_cie *cie = run->cie;
	uint64_t to = cfi_pointer(&run->c, cie->section, cie->fde_encoding, cie->address_size,
				  run->func_vaddr);

	if (run->c.bad || run->initial || to < run->pc) {
		run->c.bad = true;
		return 0;
	}
	return emit(run, to, err);
}

/* Execute an instruction that sets the CFA; false: @op is another one. */
static bool execute_cfa(struct run *run, uint8_t op)
{
	struct cursor *c = &run->c;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(c);
		def_cfa(run, reg, (int64_t)cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(c);
		def_cfa(run, reg, factored(run, cursor_sleb(c)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		def_cfa_reg(run, cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_OFFSET:
		def_cfa_off(run, (int64_t)cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		def_cfa_off(run, factored(run, cursor_sleb(c)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		def_cfa_expression(run);
		return true;
	case CFA_REMEMBER_STATE:
		remember(run);
		return true;
	case CFA_RESTORE_STATE:
		restore(run);
		return true;
	case CFA_GNU_ARGS_SIZE:
		cursor_uleb(c); /* for landing pads only */
		return true;
	case CFA_NOP:
		return true;
	default:
		return false;
	}
}

/*
 * Execute an instruction that sets a register's rule. Marks the program bad if @op is no
 * instruction.
 */
static void execute_reg(struct run *run, uint8_t op)
{
	struct cursor *c = &run->c;
	uint64_t column = cursor_uleb(c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_reg(run, column, CFI_AT_CFA, 0, factored_u(run, cursor_uleb(c)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_reg(run, column, CFI_AT_CFA, 0, factored(run, cursor_sleb(c)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		/* gcc before 3.2: the offset is subtracted, not added. */
		set_reg(run, column, CFI_AT_CFA, 0, negated(run, factored_u(run, cursor_uleb(c))));
		break;
	case CFA_VAL_OFFSET:
		set_reg(run, column, CFI_VAL_CFA, 0, factored_u(run, cursor_uleb(c)));
		break;
	case CFA_VAL_OFFSET_SF:
		set_reg(run, column, CFI_VAL_CFA, 0, factored(run, cursor_sleb(c)));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_reg(run, column);
		break;
	case CFA_UNDEFINED:
		set_reg(run, column, CFI_UNDEF, 0, 0);
		break;
	case CFA_SAME_VALUE:
		set_same(run, column);
		break;
	case CFA_REGISTER:
		set_reg(run, column, CFI_VAL_REG, cursor_uleb(c), 0);
		break;
	case CFA_EXPRESSION:
		set_expression(run, column, false);
		break;
	case CFA_VAL_EXPRESSION:
		set_expression(run, column, true);
		break;
	default:
		cursor_fail(c);
		break;
	}
}

/* Execute one instruction. Returns 0, or the error that ends the file's decoding. */
static int execute(struct run *run, struct fpl_err *err)
{
	struct cursor *c = &run->c;
	uint8_t op = cursor_u8(c);

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance(run, op & 0x3f, err);
	case CFA_OFFSET:
		set_reg(run, op & 0x3f, CFI_AT_CFA, 0, factored_u(run, cursor_uleb(c)));
		return 0;
	case CFA_RESTORE:
		restore_reg(run, op & 0x3f);
		return 0;
	default:
		break;
	}
	switch (op) {
	case CFA_ADVANCE_LOC1:
		return advance(run, cursor_u8(c), err);
	case CFA_ADVANCE_LOC2:
		return advance(run, cursor_u16(c), err);
	case CFA_ADVANCE_LOC4:
		return advance(run, cursor_u32(c), err);
	case CFA_MIPS_ADVANCE_LOC8:
		return advance(run, cursor_u64(c), err);
	case CFA_SET_LOC:
		return set_loc(run, err);
	default:
		if (!execute_cfa(run, op))
			execute_reg(run, op);
		return 0;
	}
}

/* Run instructions until the end, until the end of the wanted range, or up to a bad one. */
static int execute_all(struct run *run, struct fpl_err *err)
{
	struct budget *budget = run->machine->budget;

	while (cursor_left(&run->c) > 0 && run->pc < run->end && !run->c.bad) {
		int code = execute(run, err);

		if (code)
			return code;
		/* Rows are not the only cost: a program may remember and restore for ever. */
		if (++budget->instructions % CHECK_EVERY_INSTRUCTIONS)
			continue;
		code = budget_check(budget, err);
		if (code)
			return code;
	}
	return 0;
}

int cfa_program_start(struct cfa_machine *machine, struct cfi_cie *cie, struct fpl_err *err)
{
	const struct cfi_section *section = cie->section;
	struct run run = {
		.machine = machine,
		.cie = cie,
		.initial = true,
		.end = UINT64_MAX,
		.c = cursor_make(section->bytes + cie->code_off, cie->code_end - cie->code_off),
	};

	cie->started = true;
	machine->nr_remembered = 0;
	machine->row = (struct cfi_row){ .cfa = FPL_CFA_NONE };
	if (cie->ra_column == ARCH_RA_COLUMN)
		machine->row.reg[CFI_RA] =
			(struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };

	int code = execute_all(&run, err);

	cie->bad |= run.c.bad;
	cie->initial = machine->row;
	return code;
}

int cfa_program_run(struct cfa_machine *machine, struct cfi_cie *cie, const struct cfi_fde *fde,
		    uint64_t start, uint64_t end, cfi_row_fn fn, void *ctx, uint64_t *ret_end,
		    struct fpl_err *err)
{
	struct run run = {
		.machine = machine,
		.cie = cie,
		.c = cursor_make(cie->section->bytes + fde->code_off,
				 fde->code_end - fde->code_off),
		.pc = fde->start,
		.start = start,
		.end = end,
		.func_vaddr = fde->start,
		.fn = fn,
		.ctx = ctx,
	};
	int code = cie->started ? 0 : cfa_program_start(machine, cie, err);

	if (code)
		return code;
	*ret_end = start;
	if (cie->bad)
		return CFA_BAD;
	machine->row = cie->initial;
	machine->nr_remembered = 0;
	code = execute_all(&run, err);
	if (code)
		return code;
	if (run.c.bad) {
		*ret_end = run.pc > start ? run.pc : start;
		return CFA_BAD;
	}
	*ret_end = end;
	return emit(&run, end, err);
}
