/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/insn.h"

#include <stdbool.h>

enum { SP = 4 }; /* as ModRM has it */

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return (byte & 0xf0) == 0x40; /* REX */
	}
}

/* Does an instruction with @modrm, whose REX prefix is @rex, work on rsp in its r/m operand? */
static bool rm_is_sp(uint8_t modrm, uint8_t rex)
{
	return modrm >> 6 == 3 && (modrm & 7) == SP && !(rex & 1);
}

static bool reg_is_sp(uint8_t modrm, uint8_t rex)
{
	return (modrm >> 3 & 7) == SP && !(rex & 4);
}

/* add, and, sub of rsp; lea to it. */
static bool moves_stack(uint8_t opcode, uint8_t modrm, uint8_t rex)
{
	unsigned int op = modrm >> 3 & 7;

	switch (opcode) {
	case 0x81:
	case 0x83:
		return (op == 0 || op == 4 || op == 5) && rm_is_sp(modrm, rex);
	case 0x01:
	case 0x21:
	case 0x29:
		return rm_is_sp(modrm, rex);
	case 0x03:
	case 0x23:
	case 0x2b:
	case 0x8d:
		return reg_is_sp(modrm, rex);
	default:
		return opcode == 0xc8; /* enter */
	}
}

size_t insn_prefixes(const uint8_t *code, size_t size)
{
	size_t nr = 0;

	while (nr < size && is_prefix(code[nr]))
		nr++;
	return nr;
}

enum insn_kind insn_kind(const uint8_t *code, size_t size)
{
	size_t at = insn_prefixes(code, size);

	if (at >= size)
		return INSN_OTHER;

	uint8_t rex = at && (code[at - 1] & 0xf0) == 0x40 ? code[at - 1] : 0;
	uint8_t opcode = code[at], next = at + 1 < size ? code[at + 1] : 0;

	switch (opcode) {
	case 0xe8:
		return INSN_CALL;
	case 0xff:
		return (next >> 3 & 7) == 2 ? INSN_CALL : INSN_OTHER;
	case 0xc2:
	case 0xc3:
		return INSN_RETURN;
	case 0x9c:
		return INSN_PUSH_FLAGS;
	case 0x9d:
		return INSN_POP_FLAGS;
	case 0x0f:
		return next == 0x05 ? INSN_SYSCALL : INSN_OTHER;
	default:
		return at + 1 < size && moves_stack(opcode, next, rex) ? INSN_MOVES_STACK
								       : INSN_OTHER;
	}
}
