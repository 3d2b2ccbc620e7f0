/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions as hostile bytes: what the reader of the tables recognises must come to the
 * same on a made-up machine as evaluating the expression operation by operation.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfa_expr.h"
#include "verify/expr_eval.h"
#include "verify/row_eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPS_MAX = 4096, ROUNDS = 4 };

struct decoder {
	const uint8_t *start, *at, *end;
	bool bad;
};

static uint64_t take(struct decoder *in, size_t size, bool is_signed)
{
	uint64_t value = 0;

	if ((size_t)(in->end - in->at) < size) {
		in->bad = true;
		return 0;
	}
	memcpy(&value, in->at, size);
	in->at += size;
	if (is_signed && size < 8 && (value >> (size * 8 - 1)) != 0)
		value |= UINT64_MAX << (size * 8);
	return value;
}

static uint64_t take_leb(struct decoder *in, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(in, 1, false);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !in->bad);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return value;
}

/* The operands of DWARF 5, section 7.7.1, of the operations that have a place in CFI. */
static void take_operands(struct decoder *in, Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		op->number = take(in, 8, false);
		break;
	case DW_OP_const1u:
	case DW_OP_pick:
	case DW_OP_deref_size:
		op->number = take(in, 1, false);
		break;
	case DW_OP_const1s:
		op->number = take(in, 1, true);
		break;
	case DW_OP_const2u:
		op->number = take(in, 2, false);
		break;
	case DW_OP_const2s:
	case DW_OP_skip:
	case DW_OP_bra:
		op->number = take(in, 2, true);
		break;
	case DW_OP_const4u:
		op->number = take(in, 4, false);
		break;
	case DW_OP_const4s:
		op->number = take(in, 4, true);
		break;
	case DW_OP_constu:
	case DW_OP_plus_uconst:
	case DW_OP_regx:
		op->number = take_leb(in, false);
		break;
	case DW_OP_consts:
	case DW_OP_breg0 ... DW_OP_breg31:
		op->number = take_leb(in, true);
		break;
	case DW_OP_bregx:
		op->number = take_leb(in, false);
		op->number2 = take_leb(in, true);
		break;
	default:
		break;
	}
}

/*
 * Decode to @ops, from index @nr on. Returns their number then, 0 for bytes that are no expression.
 */
static size_t decode(const uint8_t *bytes, size_t size, Dwarf_Op *ops, size_t nr)
{
	struct decoder in = { bytes, bytes, bytes + size, false };

	while (in.at < in.end) {
		Dwarf_Op *op = &ops[nr];

		if (nr == OPS_MAX)
			return 0;
		memset(op, 0, sizeof(*op));
		op->offset = (uint64_t)(in.at - in.start);
		op->atom = *in.at++;
		take_operands(&in, op);
		if (in.bad)
			return 0;
		nr++;
	}
	return nr;
}

static void require(bool claim, const char *what)
{
	if (claim)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

static void judge_cfa(const uint8_t *data, size_t size, const Dwarf_Op *ops, size_t nr)
{
	struct cfi_row row;

	memset(&row, 0, sizeof(row));
	cfa_expr_cfa(data, size, &row);
	require(row.cfa > FPL_CFA_NONE && row.cfa < FPL_CFA_COUNT, "the CFA has a form");
	for (uint64_t round = 0; round < ROUNDS && row.cfa != FPL_CFA_EXPR; round++) {
		struct expr_result want;
		struct machine machine;
		struct caller got;

		machine_init(&machine, round, round * 5);
		row_eval(&row, &machine, &got);
		require(nr > 0, "what is recognised decodes");
		require(expr_eval(ops, nr, &machine, NULL, &want) == 0,
			"what is recognised evaluates");
		require(want.kind != EXPR_REGISTER && got.cfa == want.number,
			"the CFA recognised is the CFA computed");
	}
}

static void judge_reg(const uint8_t *data, size_t size, const Dwarf_Op *ops, size_t nr, bool value)
{
	struct cfi_row row;

	memset(&row, 0, sizeof(row));
	row.cfa = FPL_CFA_REG;
	row.cfa_reg = 7;
	row.cfa_off = 24;
	row.reg[3] = cfa_expr_reg(data, size, value);
	require(row.reg[3].kind <= CFI_EXPR && row.reg[3].reg < FPL_NR_REGS,
		"kind and register exist");
	for (uint64_t round = 0; round < ROUNDS && row.reg[3].kind != CFI_EXPR; round++) {
		struct expr_result want;
		struct machine machine;
		struct caller got;

		machine_init(&machine, round + 100, round * 5);
		row_eval(&row, &machine, &got);
		require(nr > 0, "what is recognised decodes");
		require(expr_eval(ops, nr, &machine, &got.cfa, &want) == 0,
			"what is recognised evaluates");
		if (!value && want.kind == EXPR_ADDRESS)
			want.number = machine_read(&machine, want.number, 8);
		else if (want.kind == EXPR_REGISTER)
			want.number = want.number < FPL_NR_REGS ? machine.reg[want.number] : 0;
		require(got.reg[3].kind == CALLER_VALUE && got.reg[3].value == want.number,
			"the register recognised is the register computed");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Dwarf_Op ops[OPS_MAX + 1];
	size_t nr;

	/* in CFI the CFA is on the stack when the expression of a register starts */
	ops[0] = (Dwarf_Op){ .atom = DW_OP_call_frame_cfa };
	nr = decode(data, size, ops, 1);
	judge_cfa(data, size, ops + 1, nr != 0 ? nr - 1 : 0);
	judge_reg(data, size, ops, nr, false);
	judge_reg(data, size, ops, nr, true);
	return 0;
}
