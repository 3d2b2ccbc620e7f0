/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86-64: how many bytes an instruction has. A pure function of these bytes. It knows what
 * compilers make of C code without AVX; what it does not know has no size.
 */
#pragma once

#include <linux/types.h>

#define INSN_INLINE static inline __attribute__((__always_inline__))

#define INSN_BYTES 8u /* of an instruction, behind its prefixes, tell its size */

/* Bits of struct insn.prefixes, above those of REX. */
#define INSN_REX_B  1u
#define INSN_REX_R  4u
#define INSN_REX_W  8u
#define INSN_REX    0x40u
#define INSN_16_BIT 0x100u /* 66: immediates of four bytes have two */
#define INSN_IMM_NEVER                                                             \
	0xe8u /* but for those of call and jmp, which are this opcode and the next \
	       */

/* Is @byte a prefix other than REX? */
INSN_INLINE int insn_is_prefix(__u32 byte)
{
	/* segments; fs, gs and sizes; lock; rep */
	return (byte & 0xe7) == 0x26 || (byte & 0xfc) == 0x64 || byte == 0xf0 ||
	       (byte & 0xfe) == 0xf2;
}

/* Sets of opcodes, a bit for each. */
enum insn_set {
	INSN_KNOWN,
	INSN_MODRM,
	INSN_IMM8,
	INSN_IMM32,
	INSN_NR_SETS,
};

/* Is @opcode in @set? @is_long: it follows 0f. */
INSN_INLINE int insn_is_in(int is_long, enum insn_set set, __u32 opcode)
{
	static const __u64 sets[2][INSN_NR_SETS][4] = {
		{ [INSN_KNOWN] = { 0x3f3f3f3f3f3f3f3f, 0xffff0f08ffff0000, 0xfffffff0cbff7ffb,
				   0xffe00b0fff0f00cb },
		  [INSN_MODRM] = { 0x0f0f0f0f0f0f0f0f, 0x00000a0800000000, 0x0000000000007ffb,
				   0xc0c00000ff0f00c3 },
		  [INSN_IMM8] = { 0x1010101010101010, 0xffff0c0000000000, 0x00ff010000000009,
				  0x0000080f00000043 },
		  [INSN_IMM32] = { 0x2020202020202020, 0x0000030000000000, 0xff00020000000002,
				   0x0000030000000080 } },
		{ [INSN_KNOWN] = { 0x0002ff00ffff202f, 0xf0ffffffffffffff, 0xfffff83cffffffff,
				   0x7fffffffffffffff },
		  [INSN_MODRM] = { 0x0000ff00ffff200f, 0xf07fffffffffffff, 0xfffff838ffff0000,
				   0x7fffffffffff00ff },
		  [INSN_IMM8] = { 0, 0x000f000000000000, 0x0400101000000000, 0x74 },
		  [INSN_IMM32] = { 0, 0, 0xffff, 0 } },
	};

	return sets[is_long & 1][set][opcode >> 6 & 3] >> (opcode & 63) & 1;
}

/* Bytes of the ModRM that @code begins with, and what it says follows: SIB, displacement. */
INSN_INLINE __u32 insn_modrm_size(__u64 code)
{
	__u32 mod = code >> 6 & 3, rm = code & 7, size = 1;

	if (mod == 3)
		return 1;
	if (rm == 4) {
		size = 2;
		rm = code >> 8 & 7; /* the base; 5 says none, as without SIB */
	}
	if (mod == 1)
		size += 1;
	else if (mod == 2 || rm == 5)
		size += 4;
	return size;
}

/*
 * Bytes of the instruction whose first are @code (INSN_BYTES), without the prefixes before it:
 * @prefixes, REX among them. 0: it is not known.
 */
INSN_INLINE __u32 insn_size(__u64 code, __u32 prefixes)
{
	__u32 opcode = code & 0xff, size = 1, imm32 = prefixes & INSN_16_BIT ? 2 : 4;
	int is_long = opcode == 0x0f, has_modrm, has_imm8, has_imm32;

	if (is_long) {
		opcode = code >> 8 & 0xff;
		size = 2;
	}
	/* those of jumps and calls have four bytes in any case */
	if (is_long ? (opcode & 0xf0) == 0x80 : (opcode & 0xfe) == 0xe8)
		imm32 = 4;
	if (is_long && (opcode & 0xfd) == 0x38) {
		/* three bytes */
		has_modrm = 1;
		has_imm8 = opcode == 0x3a;
		has_imm32 = 0;
		size = 3;
	} else {
		if (!insn_is_in(is_long, INSN_KNOWN, opcode))
			return 0;
		has_modrm = insn_is_in(is_long, INSN_MODRM, opcode);
		has_imm8 = insn_is_in(is_long, INSN_IMM8, opcode);
		has_imm32 = insn_is_in(is_long, INSN_IMM32, opcode);
	}
	if (!is_long) {
		/* test r/m, imm has the opcode of not, neg, mul and div */
		if ((opcode & 0xfe) == 0xf6 && !(code >> 12 & 3)) {
			has_imm8 = opcode == 0xf6;
			has_imm32 = opcode == 0xf7;
		}
		/* mov reg, i64 */
		if ((opcode & 0xf8) == 0xb8 && (prefixes & INSN_REX_W))
			imm32 = 8;
	}
	if (has_modrm)
		size += insn_modrm_size(code >> 8 * (size & 3));
	return size + (has_imm8 ? 1 : 0) + (has_imm32 ? imm32 : 0);
}
