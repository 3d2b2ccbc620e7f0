/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/row_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unwind/arch_x86_64.h"
#include "unwind/register_names.h"

struct line {
	char *at;
	size_t left;
};

FPL_PRINTF(2, 3) static void put(struct line *line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int length = vsnprintf(line->at, line->left, fmt, args);
	va_end(args);
	if (length > 0 && (size_t)length < line->left) {
		line->at += length;
		line->left -= (size_t)length;
	}
}

static void put_cfa(struct line *line, const struct cfi_row *row)
{
	const char *reg = register_name(row->cfa_reg);

	switch ((enum fpl_cfa)row->cfa) {
	case FPL_CFA_REG:
		put(line, "cfa=%s%+" PRId64, reg, row->cfa_off);
		break;
	case FPL_CFA_DEREF:
		put(line, "cfa=*(%s%+" PRId64 ")%+" PRId64, reg, row->cfa_off, row->cfa_off2);
		break;
	case FPL_CFA_INDEX:
		put(line, "cfa=*(%s%+" PRId64 "+8*%s)%+" PRId64, reg, row->cfa_off,
		    register_name(row->cfa_reg2), row->cfa_off2);
		break;
	case FPL_CFA_PLT:
		put(line, "cfa=plt:%u", row->cfa_reg2);
		break;
	case FPL_CFA_G_CALL:
	case FPL_CFA_G_RESUME:
		put(line, "cfa=%s:%s:%u,%" PRId64 ",%" PRId64,
		    row->cfa == FPL_CFA_G_CALL ? "call" : "resume", reg, 8u * row->cfa_reg2,
		    row->cfa_off2, row->cfa_off);
		break;
	case FPL_CFA_HEIGHT:
		put(line, "cfa=height:%s%+" PRId64 "%+" PRId64, reg, row->cfa_off, row->cfa_off2);
		break;
	case FPL_CFA_LUAJIT:
		put(line, "cfa=luajit:%s%+" PRId64 "%+" PRId64 "+%u", reg, row->cfa_off,
		    row->cfa_off2, 8u * row->cfa_reg2);
		break;
	case FPL_CFA_HASKELL:
		put(line, "cfa=haskell:%s%+" PRId64 ",%" PRId64 ",%u", reg, row->cfa_off,
		    row->cfa_off2, row->cfa_reg2);
		break;
	case FPL_CFA_NONE:
	case FPL_CFA_EXPR:
	case FPL_CFA_COUNT:
	default:
		put(line, "cfa=expr");
		break;
	}
}

static void put_register(struct line *line, const char *name, const struct cfi_reg *reg,
			 const char *undefined)
{
	put(line, " %s=", name);
	switch ((enum cfi_kind)reg->kind) {
	case CFI_SAME:
		put(line, "s");
		break;
	case CFI_UNDEF:
		put(line, "%s", undefined);
		break;
	case CFI_AT_CFA:
		put(line, "c%+" PRId32, reg->off);
		break;
	case CFI_AT_REG:
		put(line, "*(%s%+" PRId32 ")", register_name(reg->reg), reg->off);
		break;
	case CFI_VAL_CFA:
		put(line, "v:c%+" PRId32, reg->off);
		break;
	case CFI_VAL_REG:
		put(line, "v:%s%+" PRId32, register_name(reg->reg), reg->off);
		break;
	case CFI_VAL_PC:
		put(line, "v:pc%+" PRId32, reg->off);
		break;
	case CFI_EXPR:
	default:
		put(line, "expr");
		break;
	}
}

void row_text(const struct cfi_row *row, char buf[static ROW_TEXT_SIZE])
{
	struct line line = { .at = buf, .left = ROW_TEXT_SIZE };

	if (!row) {
		put(&line, "none");
		return;
	}
	put_cfa(&line, row);
	put_register(&line, "ra", &row->reg[CFI_RA], "end");
	for (size_t i = 0; i < FPL_NR_SAVED; i++) {
		uint8_t reg = arch_saved_regs[i];

		put_register(&line, register_name(reg), &row->reg[reg], "u");
	}
	for (uint8_t reg = 0; reg < FPL_NR_REGS; reg++)
		if (row->kept >> reg & 1)
			put(&line, " %s=s", register_name(reg));
}
