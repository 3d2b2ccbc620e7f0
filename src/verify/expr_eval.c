/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/expr_eval.h"

#include <dwarf.h>
#include <errno.h>

enum {
	STACK_MAX = 64,
	STEPS_MAX = 65536,
};

struct eval {
	const Dwarf_Op *ops;
	size_t nr_ops;
	size_t next; /* index of the operation to run next */
	const struct machine *machine;
	const uint64_t *cfa;
	uint64_t stack[STACK_MAX];
	size_t depth;
	struct expr_result result;
};

static int push(struct eval *eval, uint64_t value)
{
	if (eval->depth == STACK_MAX)
		return -EOVERFLOW;
	eval->stack[eval->depth++] = value;
	return 0;
}

static int pop(struct eval *eval, uint64_t *ret)
{
	if (eval->depth == 0)
		return -EINVAL;
	*ret = eval->stack[--eval->depth];
	return 0;
}

static int push_register(struct eval *eval, uint64_t number, uint64_t offset)
{
	if (number < FPL_NR_REGS)
		return push(eval, eval->machine->reg[number] + offset);
	if (number == MACHINE_RA)
		return push(eval, eval->machine->pc + offset);
	return -EOPNOTSUPP;
}

/* DW_OP_dup, over, pick: push a copy of the entry @idx below the top. */
static int push_copy(struct eval *eval, uint64_t idx)
{
	return idx < eval->depth ? push(eval, eval->stack[eval->depth - 1 - idx]) : -EINVAL;
}

/* DW_OP_swap (@nr 2) and DW_OP_rot (@nr 3): the top entry goes below the @nr - 1 under it. */
static int rotate(struct eval *eval, size_t nr)
{
	uint64_t *top = &eval->stack[eval->depth];
	uint64_t value;

	if (eval->depth < nr)
		return -EINVAL;
	value = top[-1];
	for (size_t i = 1; i < nr; i++)
		top[-(ptrdiff_t)i] = top[-(ptrdiff_t)i - 1];
	top[-(ptrdiff_t)nr] = value;
	return 0;
}

static int deref(struct eval *eval, size_t size)
{
	uint64_t addr;
	int rc = pop(eval, &addr);

	if (rc != 0)
		return rc;
	if (size == 0 || size > 8)
		return -EINVAL;
	return push(eval, machine_read(eval->machine, addr, size));
}

static int unary(struct eval *eval, uint8_t atom)
{
	uint64_t a;
	int rc = pop(eval, &a);

	if (rc != 0)
		return rc;
	switch (atom) {
	case DW_OP_abs:
		return push(eval, (int64_t)a < 0 ? 0 - a : a);
	case DW_OP_neg:
		return push(eval, 0 - a);
	default:
		return push(eval, ~a);
	}
}

/* DW_OP_div is signed, DW_OP_mod unsigned (DWARF 5, section 2.5.1.4). */
static int divide(struct eval *eval, uint8_t atom, uint64_t a, uint64_t b)
{
	if (b == 0)
		return -EINVAL;
	if (atom == DW_OP_mod)
		return push(eval, a % b);
	if (b == UINT64_MAX)
		return push(eval, 0 - a); /* INT64_MIN / -1 traps */
	return push(eval, (uint64_t)((int64_t)a / (int64_t)b));
}

static uint64_t shift_right_signed(uint64_t a, uint64_t b)
{
	uint64_t sign = (int64_t)a < 0 ? UINT64_MAX : 0;

	if (b >= 64)
		return sign;
	return b == 0 ? a : (a >> b) | (sign << (64 - b));
}

static int binary(struct eval *eval, uint8_t atom)
{
	uint64_t a, b;

	if (pop(eval, &b) != 0 || pop(eval, &a) != 0)
		return -EINVAL;
	switch (atom) {
	case DW_OP_plus:
		return push(eval, a + b);
	case DW_OP_minus:
		return push(eval, a - b);
	case DW_OP_mul:
		return push(eval, a * b);
	case DW_OP_and:
		return push(eval, a & b);
	case DW_OP_or:
		return push(eval, a | b);
	case DW_OP_xor:
		return push(eval, a ^ b);
	case DW_OP_shl:
		return push(eval, b < 64 ? a << b : 0);
	case DW_OP_shr:
		return push(eval, b < 64 ? a >> b : 0);
	case DW_OP_shra:
		return push(eval, shift_right_signed(a, b));
	case DW_OP_eq:
		return push(eval, a == b);
	case DW_OP_ne:
		return push(eval, a != b);
	case DW_OP_lt:
		return push(eval, (int64_t)a < (int64_t)b);
	case DW_OP_le:
		return push(eval, (int64_t)a <= (int64_t)b);
	case DW_OP_gt:
		return push(eval, (int64_t)a > (int64_t)b);
	case DW_OP_ge:
		return push(eval, (int64_t)a >= (int64_t)b);
	default:
		return divide(eval, atom, a, b);
	}
}

/* Continue at the operation @distance bytes behind the end of this branch. */
static int branch(struct eval *eval, const Dwarf_Op *op)
{
	uint64_t target = op->offset + 3 + (uint64_t)(int64_t)(int16_t)op->number;

	/* backwards: libdw gives the DW_OP_call_frame_cfa it puts in front the offset 0 too */
	for (size_t i = eval->nr_ops; i-- > 0;) {
		if (eval->ops[i].offset == target) {
			eval->next = i;
			return 0;
		}
	}
	/* a branch to the very end is legal: the expression is over */
	eval->next = eval->nr_ops;
	return target > eval->ops[eval->nr_ops - 1].offset ? 0 : -EINVAL;
}

static int branch_if(struct eval *eval, const Dwarf_Op *op)
{
	uint64_t condition;
	int rc = pop(eval, &condition);

	if (rc != 0 || condition == 0)
		return rc;
	return branch(eval, op);
}

/* Operations that name the object's place: they must come last. */
static int finish(struct eval *eval, enum expr_kind kind, uint64_t number)
{
	if (eval->next != eval->nr_ops)
		return -EOPNOTSUPP;
	eval->result.kind = kind;
	eval->result.number = number;
	return 0;
}

static int stack_value(struct eval *eval)
{
	uint64_t value;
	int rc = pop(eval, &value);

	return rc != 0 ? rc : finish(eval, EXPR_VALUE, value);
}

/* Constants and registers: operations that push and pop nothing. */
static int step_push(struct eval *eval, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		return push(eval, (uint64_t)(op->atom - DW_OP_lit0));
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(eval, op->number); /* sign-extended by the decoder */
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_register(eval, (uint64_t)(op->atom - DW_OP_breg0), op->number);
	case DW_OP_bregx:
		return push_register(eval, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return eval->cfa != NULL ? push(eval, *eval->cfa) : -EOPNOTSUPP;
	case DW_OP_reg0 ... DW_OP_reg31:
		return finish(eval, EXPR_REGISTER, (uint64_t)(op->atom - DW_OP_reg0));
	case DW_OP_regx:
		return finish(eval, EXPR_REGISTER, op->number);
	default:
		return -EOPNOTSUPP;
	}
}

static int step(struct eval *eval, const Dwarf_Op *op)
{
	uint64_t value;

	switch (op->atom) {
	case DW_OP_nop:
		return 0;
	case DW_OP_dup:
		return push_copy(eval, 0);
	case DW_OP_over:
		return push_copy(eval, 1);
	case DW_OP_pick:
		return push_copy(eval, op->number);
	case DW_OP_drop:
		return pop(eval, &value);
	case DW_OP_swap:
		return rotate(eval, 2);
	case DW_OP_rot:
		return rotate(eval, 3);
	case DW_OP_deref:
		return deref(eval, 8);
	case DW_OP_deref_size:
		return deref(eval, op->number);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
		return unary(eval, op->atom);
	case DW_OP_plus_uconst:
		return pop(eval, &value) != 0 ? -EINVAL : push(eval, value + op->number);
	case DW_OP_and:
	case DW_OP_div:
	case DW_OP_minus:
	case DW_OP_mod:
	case DW_OP_mul:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_eq ... DW_OP_ne:
		return binary(eval, op->atom);
	case DW_OP_skip:
		return branch(eval, op);
	case DW_OP_bra:
		return branch_if(eval, op);
	case DW_OP_stack_value:
		return stack_value(eval);
	default:
		return step_push(eval, op);
	}
}

int expr_eval(const Dwarf_Op *ops, size_t nr_ops, const struct machine *machine,
	      const uint64_t *cfa, struct expr_result *ret)
{
	struct eval eval = {
		.ops = ops,
		.nr_ops = nr_ops,
		.machine = machine,
		.cfa = cfa,
		.result.kind = EXPR_ADDRESS,
	};
	int rc = 0;

	for (size_t steps = 0; rc == 0 && eval.next < nr_ops; steps++) {
		if (steps == STEPS_MAX)
			return -EOVERFLOW;
		rc = step(&eval, &ops[eval.next++]);
	}
	if (rc == 0 && eval.result.kind == EXPR_ADDRESS)
		rc = pop(&eval, &eval.result.number);
	if (rc == 0)
		*ret = eval.result;
	return rc;
}
