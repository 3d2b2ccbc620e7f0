/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86-64: the frame that the first instructions of code make: registers are pushed, rsp is lowered
 * once, and registers are stored in the new frame. A pure function of these bytes.
 */
#pragma once

#include "bpf/arch_x86_64.h"

#define ENTRY_INLINE static inline __attribute__((__always_inline__))

#define ENTRY_BYTES 48u /* of code that are looked at */
#define ENTRY_INSNS 16u /* and instructions: entry_step() that often */

#define ENTRY_FRAME_MAX (1 << 20) /* bytes of a frame that are believed */

struct entry {
	const __u8 *bytes; /* [ENTRY_BYTES + 8], the code from its first instruction on */
	__u32 nr; /* of them, at most ENTRY_BYTES: decoding ends there, or at another instruction */
	__u32 at; /* where the next instruction is */
	__u32 is_whole; /* rsp was lowered */
	__u32 _pad;
	struct fpl_rule *rule; /* in force at @at */
};

/* The rule at the first instruction. */
ENTRY_INLINE void entry_begin(struct fpl_rule *rule)
{
	__builtin_memset(rule, 0, sizeof(*rule));
	rule->cfa = FPL_CFA_REG;
	rule->regs = ARCH_SP;
	rule->cfa_off = 8;
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++)
		rule->saved[i] = FPL_SAVED_SAME;
}

/* The number in instructions of the register of fpl_rule.saved[@i]. */
#define ENTRY_REG(i) ((i) == ARCH_SAVED_RBP ? 5 : ARCH_SAVED_REG(i))
#define ENTRY_RSP    4u

/* Register @reg gets the place @word; the first place, or loss, counts: what is in the register
 * behind it is not the caller's. */
ENTRY_INLINE void entry_place(struct fpl_rule *rule, __u32 reg, __s32 word)
{
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++)
		if (reg == ENTRY_REG(i) && rule->saved[i] == FPL_SAVED_SAME)
			rule->saved[i] = (__s8)(word > FPL_SAVED_SAME ? word : FPL_SAVED_UNDEF);
}

ENTRY_INLINE __u32 entry_push(struct fpl_rule *rule, __u32 reg, __u32 size)
{
	rule->cfa_off += 8;
	entry_place(rule, reg, -(rule->cfa_off >> 3));
	return size;
}

/* rsp is lowered by @bytes, once. */
ENTRY_INLINE __u32 entry_lower(struct entry *entry, __s64 bytes, __u32 size)
{
	if (entry->is_whole || bytes <= 0 || (bytes & 7) ||
	    bytes > ENTRY_FRAME_MAX - entry->rule->cfa_off)
		return 0;
	entry->is_whole = 1;
	entry->rule->cfa_off += (__s32)bytes;
	return size;
}

/* Instructions that move data, with REX.W: @code begins with one. */
ENTRY_INLINE __u32 entry_move(struct entry *entry, __u64 code)
{
	__u32 rex = code & 0xff, opcode = code >> 8 & 0xff, modrm = code >> 16 & 0xff;
	__u32 reg = (modrm >> 3 & 7) | (rex & 4) << 1, rm = (modrm & 7) | (rex & 1) << 3;
	__u32 mod = modrm >> 6;
	__s32 off;

	if (opcode != 0x89 && opcode != 0x8b)
		return 0;
	if (mod == 3 || (opcode == 0x8b && mod == 1 && (rm & 7) != ENTRY_RSP)) {
		/* mov reg, reg; mov reg, [reg + d8] */
		__u32 to = opcode == 0x8b ? reg : rm;

		if (to == ENTRY_RSP)
			return 0;
		entry_place(entry->rule, to, FPL_SAVED_SAME);
		return mod == 3 ? 3 : 4;
	}
	/* mov [rsp], reg; mov [rsp + d8], reg */
	if (opcode != 0x89 || mod > 1 || rm != ENTRY_RSP || (code >> 24 & 0xff) != 0x24)
		return 0;
	off = mod ? (__s8)(code >> 32) : 0;
	if (off < 0 || (off & 7))
		return 0;
	if (off <= entry->rule->cfa_off - 16) /* else it is an argument, in the caller's frame */
		entry_place(entry->rule, reg, -((entry->rule->cfa_off - off) >> 3));
	return mod ? 5 : 4;
}

/* Do what the instruction @code does. Returns its bytes; 0: it is one of no entry. */
ENTRY_INLINE __u32 entry_insn(struct entry *entry, __u64 code)
{
	if ((code & 0xffffffff) == 0xfa1e0ff3) /* endbr64 */
		return 4;
	if ((code & 0xf8) == 0x50 && !entry->is_whole)
		return entry_push(entry->rule, code & 7, 1);
	if ((code & 0xf8ff) == 0x5041 && !entry->is_whole)
		return entry_push(entry->rule, 8 + (code >> 8 & 7), 2);
	if ((code & 0xffffff) == 0xec8348) /* sub rsp, i8 */
		return entry_lower(entry, (__s8)(code >> 24), 4);
	if ((code & 0xffffff) == 0xec8148) /* sub rsp, i32 */
		return entry_lower(entry, (__s32)(code >> 24), 7);
	if ((code & 0xffffff) == 0xc48148) /* add rsp, i32 */
		return entry_lower(entry, -(__s64)(__s32)(code >> 24), 7);
	return (code & 0xf8) == 0x48 ? entry_move(entry, code) : 0;
}

static long entry_step(__u32 idx, void *arg)
{
	struct entry *entry = (struct entry *)arg;
	__u32 at = entry->at, size;
	__u64 code = 0;

	(void)idx;
	if (at >= entry->nr || at >= ENTRY_BYTES)
		return 1;
#pragma GCC unroll 8
	for (__u32 i = 0; i < 8; i++)
		code |= (__u64)entry->bytes[at + i] << 8 * i;
	size = entry_insn(entry, code);
	entry->at = at + size;
	return !size;
}
