/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfa_expr.h"

#include "base/cursor.h"
#include "unwind/arch_x86_64.h"

/* DWARF 5, table 7.9: the operations met in the CFI of gcc, clang, ld and hand-written assembly. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

enum {
	PC_REG = ARCH_RA_COLUMN,
	STACK_MAX = 8, /* deepest seen: 4 */
	OPS_MAX = 64,  /* longest recognised form: 9 */
};

/* The value of a stack slot. R and S are registers, N and M numbers. */
enum sym_kind {
	SYM_NUMBER,	 /* N */
	SYM_REG,	 /* R + N; R may be the pc */
	SYM_CFA,	 /* CFA + N */
	SYM_SCALED,	 /* 8 * S + N */
	SYM_INDEX,	 /* R + 8 * S + N */
	SYM_DEREF_REG,	 /* *(R + N) + M */
	SYM_DEREF_CFA,	 /* *(CFA + N) + M */
	SYM_DEREF_INDEX, /* *(R + 8 * S + N) + M */
	SYM_PC_LOW,	 /* pc & 15 */
	SYM_PC_GE,	 /* (pc & 15) >= S */
	SYM_PC_GE_8,	 /* ((pc & 15) >= S) * 8 + N */
	SYM_PLT,	 /* R + N + ((pc & 15) >= S) * 8 */
};

struct sym {
	enum sym_kind kind;
	uint8_t reg, reg2;
	int64_t off, off2;
};

struct sym_stack {
	struct sym sym[STACK_MAX];
	unsigned depth;
	bool unknown; /* something the table has no form for */
};

static void stack_push(struct sym_stack *stack, struct sym sym)
{
	if (stack->depth == STACK_MAX) {
		stack->unknown = true;
		return;
	}
	stack->sym[stack->depth++] = sym;
}

static struct sym stack_pop(struct sym_stack *stack)
{
	if (stack->depth == 0) {
		stack->unknown = true;
		return (struct sym){ .kind = SYM_NUMBER };
	}
	return stack->sym[--stack->depth];
}

static void stack_push_number(struct sym_stack *stack, int64_t number)
{
	stack_push(stack, (struct sym){ .kind = SYM_NUMBER, .off = number });
}

/* Push a register plus @off; numbers above the pc's have no form. */
static void stack_push_reg(struct sym_stack *stack, uint64_t reg, int64_t off)
{
	if (reg > PC_REG) {
		stack->unknown = true;
		return;
	}
	stack_push(stack, (struct sym){ .kind = SYM_REG, .reg = (uint8_t)reg, .off = off });
}

/* Add @number to the number @sym ends with. */
static bool sym_add_number(struct sym *sym, int64_t number)
{
	switch (sym->kind) {
	case SYM_NUMBER:
	case SYM_CFA:
	case SYM_SCALED:
	case SYM_INDEX:
	case SYM_PC_GE_8:
	case SYM_PLT:
	case SYM_REG:
		return !__builtin_add_overflow(sym->off, number, &sym->off);
	case SYM_DEREF_REG:
	case SYM_DEREF_CFA:
	case SYM_DEREF_INDEX:
		return !__builtin_add_overflow(sym->off2, number, &sym->off2);
	case SYM_PC_LOW:
	case SYM_PC_GE:
		break;
	}
	return false;
}

static bool sym_plus(struct sym a, struct sym b, struct sym *ret)
{
	if (a.kind == SYM_NUMBER) {
		struct sym swap = a;

		a = b;
		b = swap;
	}
	if (b.kind == SYM_NUMBER) {
		*ret = a;
		return sym_add_number(ret, b.off);
	}
	if (a.kind != SYM_REG) {
		struct sym swap = a;

		a = b;
		b = swap;
	}
	if (a.kind != SYM_REG || a.reg == PC_REG)
		return false;
	*ret = a;
	ret->reg2 = b.reg2;
	if (b.kind == SYM_SCALED)
		ret->kind = SYM_INDEX;
	else if (b.kind == SYM_PC_GE_8)
		ret->kind = SYM_PLT;
	else
		return false;
	return sym_add_number(ret, b.off);
}

/* Multiply by 8: the only factor any recognised form has. */
static bool sym_times_8(struct sym a, struct sym *ret)
{
	*ret = a;
	if (a.kind == SYM_NUMBER)
		return !__builtin_mul_overflow(a.off, 8, &ret->off);
	if (a.kind == SYM_PC_GE) {
		ret->kind = SYM_PC_GE_8;
		return true;
	}
	if (a.kind != SYM_REG || a.reg == PC_REG)
		return false;
	*ret = (struct sym){ .kind = SYM_SCALED, .reg2 = a.reg };
	return !__builtin_mul_overflow(a.off, 8, &ret->off);
}

static bool sym_deref(struct sym a, struct sym *ret)
{
	*ret = a;
	ret->off2 = 0;
	if (a.kind == SYM_REG && a.reg != PC_REG)
		ret->kind = SYM_DEREF_REG;
	else if (a.kind == SYM_CFA)
		ret->kind = SYM_DEREF_CFA;
	else if (a.kind == SYM_INDEX)
		ret->kind = SYM_DEREF_INDEX;
	else
		return false;
	return true;
}

static bool sym_is_number(struct sym sym, int64_t number)
{
	return sym.kind == SYM_NUMBER && sym.off == number;
}

/* An operation on the two topmost symbols. */
static bool sym_binary(uint8_t op, struct sym a, struct sym b, struct sym *ret)
{
	switch (op) {
	case OP_PLUS:
		return sym_plus(a, b, ret);
	case OP_MINUS:
		*ret = a;
		return b.kind == SYM_NUMBER && b.off != INT64_MIN && sym_add_number(ret, -b.off);
	case OP_SHL:
		return sym_is_number(b, 3) && sym_times_8(a, ret);
	case OP_MUL:
		return (sym_is_number(b, 8) && sym_times_8(a, ret)) ||
		       (sym_is_number(a, 8) && sym_times_8(b, ret));
	case OP_AND:
		*ret = (struct sym){ .kind = SYM_PC_LOW };
		return a.kind == SYM_REG && a.reg == PC_REG && a.off == 0 && sym_is_number(b, 15);
	case OP_GE:
		*ret = (struct sym){ .kind = SYM_PC_GE, .reg2 = (uint8_t)b.off };
		return a.kind == SYM_PC_LOW && b.kind == SYM_NUMBER && b.off >= 0 && b.off <= 15;
	default:
		return false;
	}
}

/* Execute a constant with its operand in the code; false: @op is not one. */
static bool push_constant(struct sym_stack *stack, uint8_t op, struct cursor *c)
{
	switch (op) {
	case OP_CONST1U:
		stack_push_number(stack, cursor_u8(c));
		return true;
	case OP_CONST1S:
		stack_push_number(stack, (int8_t)cursor_u8(c));
		return true;
	case OP_CONST2U:
		stack_push_number(stack, cursor_u16(c));
		return true;
	case OP_CONST2S:
		stack_push_number(stack, (int16_t)cursor_u16(c));
		return true;
	case OP_CONST4U:
		stack_push_number(stack, cursor_u32(c));
		return true;
	case OP_CONST4S:
		stack_push_number(stack, (int32_t)cursor_u32(c));
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		stack_push_number(stack, (int64_t)cursor_u64(c));
		return true;
	case OP_CONSTU:
		stack_push_number(stack, (int64_t)cursor_uleb(c));
		return true;
	case OP_CONSTS:
		stack_push_number(stack, cursor_sleb(c));
		return true;
	default:
		if (op < OP_LIT0 || op > OP_LIT31)
			return false;
		stack_push_number(stack, op - OP_LIT0);
		return true;
	}
}

static void execute(struct sym_stack *stack, uint8_t op, struct cursor *c)
{
	struct sym a, b;

	if (op == OP_NOP || push_constant(stack, op, c))
		return;
	if (op >= OP_BREG0 && op <= OP_BREG31) {
		stack_push_reg(stack, (uint64_t)op - OP_BREG0, cursor_sleb(c));
	} else if (op == OP_BREGX) {
		uint64_t reg = cursor_uleb(c);

		stack_push_reg(stack, reg, cursor_sleb(c));
	} else if (op == OP_PLUS_UCONST) {
		uint64_t number = cursor_uleb(c);

		a = stack_pop(stack);
		stack->unknown |= number > INT64_MAX || !sym_add_number(&a, (int64_t)number);
		stack_push(stack, a);
	} else if (op == OP_DEREF || op == OP_DEREF_SIZE) {
		if (op == OP_DEREF_SIZE && cursor_u8(c) != 8)
			stack->unknown = true;
		stack->unknown |= !sym_deref(stack_pop(stack), &a);
		stack_push(stack, a);
	} else {
		b = stack_pop(stack);
		a = stack_pop(stack);
		struct sym result = { .kind = SYM_NUMBER };

		stack->unknown |= !sym_binary(op, a, b, &result);
		stack_push(stack, result);
	}
}

/* Evaluate to one symbol; false if the expression has no form here. */
static bool evaluate(const uint8_t *bytes, size_t size, struct sym_stack *stack, struct sym *ret)
{
	struct cursor c = cursor_make(bytes, size);

	for (unsigned i = 0; cursor_left(&c) > 0; i++) {
		if (i == OPS_MAX)
			return false;
		execute(stack, cursor_u8(&c), &c);
		if (stack->unknown || c.bad)
			return false;
	}
	*ret = stack_pop(stack);
	return !stack->unknown;
}

void cfa_expr_cfa(const uint8_t *bytes, size_t size, struct cfi_row *row)
{
	struct sym_stack stack = { .depth = 0 };
	struct sym sym;

	row->cfa = FPL_CFA_EXPR;
	row->cfa_reg = row->cfa_reg2 = 0;
	row->cfa_off = row->cfa_off2 = 0;
	if (!evaluate(bytes, size, &stack, &sym))
		return;
	if (sym.kind == SYM_REG && sym.reg != PC_REG)
		row->cfa = FPL_CFA_REG;
	else if (sym.kind == SYM_DEREF_REG)
		row->cfa = FPL_CFA_DEREF;
	else if (sym.kind == SYM_DEREF_INDEX)
		row->cfa = FPL_CFA_INDEX;
	else if (sym.kind == SYM_PLT)
		row->cfa = FPL_CFA_PLT;
	else
		return;
	row->cfa_reg = sym.reg;
	row->cfa_reg2 = sym.reg2;
	row->cfa_off = sym.off;
	row->cfa_off2 = sym.off2;
}

struct cfi_reg cfa_expr_reg(const uint8_t *bytes, size_t size, bool value)
{
	const struct cfi_reg unknown = { .kind = CFI_EXPR };
	struct sym_stack stack = { .sym = { { .kind = SYM_CFA } }, .depth = 1 };
	struct sym sym;

	if (!evaluate(bytes, size, &stack, &sym) || sym.off != (int32_t)sym.off)
		return unknown;

	struct cfi_reg rule = { .reg = sym.reg, .off = (int32_t)sym.off };

	if (sym.kind == SYM_CFA)
		rule.kind = value ? CFI_VAL_CFA : CFI_AT_CFA;
	else if (sym.kind == SYM_REG && sym.reg != PC_REG)
		rule.kind = value ? CFI_VAL_REG : CFI_AT_REG;
	else if (sym.kind == SYM_REG && value)
		rule = (struct cfi_reg){ .kind = CFI_VAL_PC, .off = rule.off };
	else if (sym.kind == SYM_DEREF_CFA && value && sym.off2 == 0)
		rule.kind = CFI_AT_CFA;
	else if (sym.kind == SYM_DEREF_REG && value && sym.off2 == 0)
		rule.kind = CFI_AT_REG;
	else
		return unknown;
	return rule;
}
