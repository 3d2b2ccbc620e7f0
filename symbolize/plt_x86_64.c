/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <string.h>

#include "symbolize/plt.h"

/*
 * x86-64 psABI, "Procedure Linkage Table", and as ld, gold and lld write it for IBT:
 *
 *	[endbr64] [bnd] jmp *slot(%rip)		.plt, .plt.sec, .plt.got
 *	[endbr64] push $index; [bnd] jmp plt0	.plt where .plt.sec has the jumps
 */
static bool decode(const uint8_t *code, size_t size, struct plt_stub *stub)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t pos = 0;
	int32_t operand;

	if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		pos = sizeof(endbr64);
	if (size - pos >= 5 && code[pos] == 0x68) {
		memcpy(&operand, code + pos + 1, sizeof(operand));
		stub->link = PLT_LINK_INDEX;
		stub->value = (uint32_t)operand;
		return true;
	}
	if (pos < size && code[pos] == 0xf2)
		pos++;
	if (size - pos < 6 || code[pos] != 0xff || code[pos + 1] != 0x25)
		return false;
	memcpy(&operand, code + pos + 2, sizeof(operand));
	stub->link = PLT_LINK_SLOT;
	stub->value = stub->vaddr + pos + 6 + (uint64_t)(int64_t)operand;
	return true;
}

const struct plt_arch plt_x86_64 = {
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	.irelative = R_X86_64_IRELATIVE,
	.decode = decode,
};
