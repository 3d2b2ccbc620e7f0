/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/entry.h"

#include <string.h>

enum {
	DIRECT_SIZE = 5, /* e8 rel32 */
	INDIRECT_SIZE_MAX =
		8, /* REX, ff, ModRM, SIB, disp32; other prefixes may come before that */
};

struct prover {
	const struct registers *now;
	entry_read_fn read;
	void *ctx;
};

static bool read_word(const struct prover *prover, uint64_t addr, uint64_t *ret)
{
	return prover->read(prover->ctx, addr, sizeof(*ret), ret);
}

/* Is there a PLT entry at @addr that leads to the thread's pc? [endbr64] [bnd] jmp *rel32(%rip) */
static bool plt_leads_there(const struct prover *prover, uint64_t addr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16];
	size_t at = 0;
	int32_t off;
	uint64_t target;

	if (!prover->read(prover->ctx, addr, sizeof(code), code))
		return false;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&off, code + at + 2, sizeof(off));
	addr += at + 6 + (uint64_t)(int64_t)off;
	return read_word(prover, addr, &target) && target == prover->now->pc;
}

static bool direct_leads_there(const struct prover *prover, uint64_t ra)
{
	uint8_t code[DIRECT_SIZE];
	int32_t off;

	if (!prover->read(prover->ctx, ra - DIRECT_SIZE, sizeof(code), code) || code[0] != 0xe8)
		return false;
	memcpy(&off, code + 1, sizeof(off));

	uint64_t target = ra + (uint64_t)(int64_t)off;

	return target == prover->now->pc || plt_leads_there(prover, target);
}

/* Register @number in ModRM's numbering, as at the call. */
static uint64_t register_value(const struct prover *prover, unsigned int number)
{
	/* DWARF numbers of the first eight */
	static const uint8_t dwarf[] = { 0, 2, 1, 3, 7, 6, 4, 5 };
	unsigned int reg = number < sizeof(dwarf) ? dwarf[number] : number;

	return prover->now->reg[reg] + (reg == X86_RSP ? 8 : 0);
}

struct operand {
	const uint8_t *code; /* from ModRM on */
	size_t size, at;     /* at: what was read */
	uint8_t rex;
	uint64_t ra;
};

/* The memory operand's address; false: the bytes are no such operand, or too many or few. */
static bool operand_address(const struct prover *prover, struct operand *op, uint64_t *ret)
{
	uint8_t modrm = op->code[0], mod = modrm >> 6, rm = modrm & 7;
	size_t disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	uint64_t addr = 0;

	op->at = 1;
	if (rm == 4) {
		if (op->size < 2)
			return false;

		uint8_t sib = op->code[op->at++], index = sib >> 3 & 7, base = sib & 7;

		index |= (uint8_t)((op->rex & 2) << 2);
		if (index != 4)
			addr = register_value(prover, index) << (sib >> 6);
		if (mod == 0 && base == 5)
			disp_size = 4;
		else
			addr += register_value(prover, base | (op->rex & 1u) << 3);
	} else if (mod == 0 && rm == 5) {
		disp_size = 4;
		addr = op->ra;
	} else {
		addr = register_value(prover, rm | (op->rex & 1u) << 3);
	}
	if (op->at + disp_size != op->size)
		return false;
	if (disp_size == 1)
		addr += (uint64_t)(int8_t)op->code[op->at];
	if (disp_size == 4) {
		int32_t disp;

		memcpy(&disp, op->code + op->at, sizeof(disp));
		addr += (uint64_t)(int64_t)disp;
	}
	*ret = addr;
	return true;
}

/* Are the @size bytes before @ra a call by register or memory that leads there? */
static bool indirect_leads_there(const struct prover *prover, const uint8_t *code, size_t size,
				 uint64_t ra)
{
	uint8_t rex = 0;
	size_t at = 0;
	uint64_t addr, target;

	if ((code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (at + 2 > size || code[at] != 0xff || (code[at + 1] >> 3 & 7) != 2)
		return false;
	at++;
	if (code[at] >> 6 == 3)
		return at + 1 == size &&
		       register_value(prover, (code[at] & 7u) | (rex & 1u) << 3) == prover->now->pc;

	struct operand op = { .code = code + at, .size = size - at, .rex = rex, .ra = ra };

	return operand_address(prover, &op, &addr) && read_word(prover, addr, &target) &&
	       (target == prover->now->pc || plt_leads_there(prover, target));
}

bool entry_is_proven(const struct registers *now, entry_read_fn read, void *ctx, uint64_t *ret_ra)
{
	const struct prover prover = { now, read, ctx };
	uint8_t code[INDIRECT_SIZE_MAX];
	uint64_t ra;

	if (!read_word(&prover, now->reg[X86_RSP], &ra))
		return false;
	*ret_ra = ra;
	if (direct_leads_there(&prover, ra))
		return true;
	if (!read(ctx, ra - sizeof(code), sizeof(code), code))
		return false;
	for (size_t size = 2; size <= sizeof(code); size++)
		if (indirect_leads_there(&prover, code + sizeof(code) - size, size, ra))
			return true;
	return false;
}
