/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of compiled code that nothing describes: it is followed, instruction by instruction, to
 * where it returns. On each way from an instruction to a return as many words are taken off the
 * stack, so one way tells how many there are, and which registers they hold. Branches are not
 * taken, calls leave rsp as it is.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/entry_x86_64.h"
#include "bpf/insn_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/walk_fp.h"
#include "bpf/walk_frame.h"
#include "bpf/walk_read.h"

#define FOLLOW_INSNS	 256u /* that are looked at, each prefix but REX being one */
#define FOLLOW_BLOCK	 256u /* bytes of code that are read at once: a page has a whole number */
#define FOLLOW_WORDS_MAX 126  /* above rsp, in which saved registers are found */

/* Results of a turn. */
enum { FOLLOW_GOES_ON, FOLLOW_ENDS };

/* Context of the loop. */
struct follower {
	struct fpl_walk *walk;
	struct env *env;
};

/* The instruction at hand. */
struct follow_insn {
	__u64 code;
	__u32 opcode, modrm, rex;
	__u32 size;
};

/* rsp is changed by @bytes: raised, words are taken off the stack. */
WALK_INLINE void follow_raise(struct fpl_follow *follow, __s32 bytes)
{
	follow->taken += bytes;
	if (follow->taken > follow->most)
		follow->most = follow->taken;
	follow->branch = 0;
}

/* A word goes to register @reg. It is the caller's value unless the way itself has pushed it. */
WALK_INLINE void follow_pop(struct fpl_walk *walk, __u32 reg)
{
	struct fpl_follow *follow = &walk->follow;
	__s32 word = follow->taken >> 3;

	if (follow->taken == follow->most && word <= FOLLOW_WORDS_MAX) {
#pragma GCC unroll 6
		for (__u32 i = 0; i < FPL_NR_SAVED; i++)
			if (reg == ENTRY_REG(i))
				walk->rule.saved[i] = (__s8)word;
	}
	follow_raise(follow, 8);
}

/* Instructions that put a number into rsp, or lower or raise it by one: *ret. Returns whether
 * another one that changes rsp is not at hand. */
WALK_INLINE int follow_rsp(const struct follow_insn *insn, __s32 *ret)
{
	__u32 kind = insn->modrm >> 3 & 7, is_rm = (insn->modrm & 0xc7) == 0xc4;
	__s32 imm8 = (__s8)(insn->code >> 16), imm32 = (__s32)(insn->code >> 16);

	*ret = 0;
	if (insn->opcode == 0x8d) { /* lea */
		if (kind != 4 || (insn->rex & INSN_REX_R))
			return 1;
		*ret = insn->modrm == 0x64 ? (__s8)(insn->code >> 24) : (__s32)(insn->code >> 24);
		/* lea rsp, [rsp + d8], lea rsp, [rsp + d32] */
		return (insn->modrm == 0x64 || insn->modrm == 0xa4) &&
		       (insn->code >> 16 & 0xff) == 0x24;
	}
	if (insn->opcode == 0x81 || insn->opcode == 0x83) {
		__s32 imm = insn->opcode == 0x83 ? imm8 : imm32;

		if (!is_rm || (insn->rex & INSN_REX_B) || kind == 7) /* cmp */
			return 1;
		*ret = kind == 5 ? -imm : imm;
		return kind == 0 || kind == 5; /* add, sub */
	}
	/* arithmetic and mov, from a register to r/m or the other way; of bytes it changes none */
	if (((insn->opcode & 0xc4) && (insn->opcode & 0xfc) != 0x88) || !(insn->opcode & 1) ||
	    (insn->opcode & 0xfc) == 0x38) /* cmp */
		return 1;
	return insn->opcode & 2 ? kind != 4 || (insn->rex & INSN_REX_R)
				: !is_rm || (insn->rex & INSN_REX_B);
}

/* A jump to @to: back in a loop, the way is the one that the last branch leads out of it. */
WALK_INLINE int follow_jump(struct fpl_follow *follow, __u64 to)
{
	if (to <= follow->at && follow->branch) {
		to = follow->branch;
		follow->branch = 0;
	}
	follow->at = to;
	return FOLLOW_GOES_ON;
}

/* FF: inc, dec, call, jmp, push. */
WALK_INLINE int follow_ff(struct fpl_follow *follow, const struct follow_insn *insn)
{
	__u32 kind = insn->modrm >> 3 & 7;

	if (kind == 3 || kind == 5 || kind == 7)
		return FOLLOW_ENDS;
	/* to other code, in whose place it returns */
	if (kind == 4) {
		follow->is_found = 1;
		return FOLLOW_ENDS;
	}
	if (kind == 6)
		follow_raise(follow, -8);
	follow->at += insn->size;
	return FOLLOW_GOES_ON;
}

/* Instructions that jump, branch, or move words to and from the stack. Returns FOLLOW_ENDS at the
 * last one of the way. */
WALK_INLINE int follow_insn(struct fpl_walk *walk, const struct follow_insn *insn)
{
	struct fpl_follow *follow = &walk->follow;
	__u64 next = follow->at + insn->size;
	__u32 opcode = insn->opcode;
	__s32 raised;

	if (opcode == 0xc3) { /* ret */
		follow->is_found = 1;
		return FOLLOW_ENDS;
	}
	if (opcode == 0xe9)
		return follow_jump(follow, next + (__u64)(__s64)(__s32)(insn->code >> 8));
	if (opcode == 0xeb)
		return follow_jump(follow, next + (__u64)(__s64)(__s8)(insn->code >> 8));
	if (opcode == 0xff)
		return follow_ff(follow, insn);
	if ((opcode & 0xf8) == 0x50 || opcode == 0x68 || opcode == 0x6a) { /* push */
		follow_raise(follow, -8);
	} else if ((opcode & 0xf8) == 0x58) {
		follow_pop(walk, (opcode & 7) | (insn->rex & INSN_REX_B) << 3);
	} else if ((opcode & 0xf0) == 0x70) { /* jcc */
		if (!(insn->code >> 15 & 1))
			follow->branch = next + (insn->code >> 8 & 0xff);
	} else if (opcode == 0x0f && (insn->modrm & 0xf0) == 0x80) {
		if (!(insn->code >> 47 & 1))
			follow->branch = next + (insn->code >> 16 & 0xffffffff);
	} else if (opcode != 0x0f) {
		if (!follow_rsp(insn, &raised))
			return FOLLOW_ENDS;
		if (raised)
			follow_raise(follow, raised);
	}
	follow->at = next;
	return FOLLOW_GOES_ON;
}

/* Read what is at follow->at into follow->code, from a block of code, which is kept in walk->code:
 * userspace pays for each read what a hundred instructions cost. Returns 0, or 1 where nothing can
 * be read. */
WALK_INLINE int follow_read(struct env *env, struct fpl_walk *walk)
{
	struct fpl_follow *follow = &walk->follow;
	const __u8 *bytes = (const __u8 *)walk->code;
	__u64 at = follow->at, block = at & ~(FOLLOW_BLOCK - 1ull), code = 0;
	__u32 off = at & (FOLLOW_BLOCK - 1);

	if (off > FOLLOW_BLOCK - INSN_BYTES)
		return env_read_code(env, &follow->code, INSN_BYTES, at) != 0;
	if (follow->block != block && env_read_code(env, walk->code, FOLLOW_BLOCK, block))
		return 1;
	follow->block = block;
#pragma GCC unroll 8
	for (__u32 i = 0; i < INSN_BYTES; i++)
		code |= (__u64)bytes[off + i] << 8 * i;
	follow->code = code;
	return 0;
}

static long follow_step(__u32 idx, void *arg)
{
	struct follower *follower = arg;
	struct fpl_walk *walk = follower->walk;
	struct fpl_follow *follow = &walk->follow;
	struct follow_insn insn = { .rex = 0 };

	(void)idx;
	if (follow_read(follower->env, walk))
		return FOLLOW_ENDS;
	insn.code = follow->code;
	insn.opcode = insn.code & 0xff;
	if (insn_is_prefix(insn.opcode)) {
		if (insn.opcode == 0x66)
			follow->prefixes |= INSN_16_BIT;
		follow->at++;
		return FOLLOW_GOES_ON;
	}
	if ((insn.opcode & 0xf0) == INSN_REX) {
		insn.rex = insn.opcode;
		insn.code >>= 8;
		insn.opcode = insn.code & 0xff;
		follow->at++;
	}
	insn.modrm = insn.code >> 8 & 0xff;
	insn.size = insn_size(insn.code, insn.rex | follow->prefixes);
	follow->prefixes = 0;
	return insn.size ? follow_insn(walk, &insn) : FOLLOW_ENDS;
}

/* Code at walk->pc, in the mapping found last, that is as compilers make it. The return address
 * must be one: behind a call. @reg: has the script frame of such code; 0: none does. */
WALK_INLINE int walk_by_following(struct env *env, struct fpl_walk *walk, __u32 reg)
{
	struct follower follower = { .walk = walk, .env = env };
	struct walker walker = { .walk = walk, .env = env };
	struct fpl_follow *follow = &walk->follow;
	struct fpl_rule *rule = &walk->rule;
	__s32 words;
	__u64 ra;

	reg &= FPL_NR_REGS - 1;
	walk->script_made = reg && (walk->known & WALK_BIT(reg)) ? walk->reg[reg] : 0;
	walk->script_made_at = walk->nr_frames;
	__builtin_memset(follow, 0, sizeof(*follow));
	follow->at = walk->pc;
	entry_begin(rule);
	env_loop(FOLLOW_INSNS, follow_step, &follower);
	if (!follow->is_found || follow->taken != follow->most || (follow->taken & 7) ||
	    follow->taken < 0 || follow->taken > ENTRY_FRAME_MAX)
		return WALK_REGION_NOTHING;
	rule->cfa_off = follow->taken + 8;
	words = rule->cfa_off >> 3;
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++) {
		__s32 place = rule->saved[i];

		if (place != FPL_SAVED_SAME)
			rule->saved[i] =
				(__s8)(words - place <= 127 ? place - words : FPL_SAVED_UNDEF);
	}
	if (walk_read(&walker, walk->reg[ARCH_SP] + (__u64)(__s64)follow->taken, &ra) ||
	    walk_is_ra(&walker, ra) == WALK_RA_NO)
		return WALK_REGION_NOTHING;
	return WALK_REGION_RULE;
}
