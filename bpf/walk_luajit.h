/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LuaJIT's traces, and the assembly by which they are left, run below the frame of the interpreter,
 * at a distance that differs from trace to trace. The interpreter's own record of its frames tells
 * where that one is: FPL_CFA_LUAJIT of bpf/shared.h. By the same record LuaJIT itself goes back to
 * the frame when a trace is left.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/entry_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/walk_frame.h"
#include "bpf/walk_goroutine.h"
#include "bpf/walk_read.h"

#define LUAJIT_BEFORE_OFF 32u /* in a frame: the address of the one before it */
#define LUAJIT_FRAMES_MAX 4u  /* looked at: what is called when a trace is left may have some */
#define LUAJIT_FLAGS	  3ull
#define LUAJIT_REACH	  (1ull << 17) /* bytes from rsp to the frame that are believed */

/* The CFA by walk->rule, into walk->word; @dispatch: the value of its register R. */
WALK_INLINE int walk_luajit_cfa(struct env *env, struct fpl_walk *walk, __u64 dispatch)
{
	const struct fpl_rule *rule = &walk->rule;
	__u64 sp = walk->reg[ARCH_SP], at;

	if (walk_field(env, walk, dispatch + (__u64)(__s64)rule->cfa_off, &at) ||
	    walk_field(env, walk, at + (__u64)(__s64)rule->off2, &at))
		return FPL_STOP_READ_FAULT;
	at &= ~LUAJIT_FLAGS;
	for (__u32 i = 1; i < LUAJIT_FRAMES_MAX && at && at <= sp; i++) {
		if (walk_field(env, walk, at + LUAJIT_BEFORE_OFF, &at))
			return FPL_STOP_READ_FAULT;
		at &= ~LUAJIT_FLAGS;
	}
	if (at <= sp || at - sp > LUAJIT_REACH || (at & 7))
		return FPL_STOP_REG_UNKNOWN;
	walk->word = at + 8 * (rule->regs >> 4);
	return FPL_STOP_NONE;
}
WALK_ONCE(walk_to_interpreter, walk_luajit_cfa, FPL_STOP_EXPR)

/* The second word of a mapping tells what is in it: in an area of traces, which begins with the
 * address of another one or 0, its own size; in a chunk of sljit's (walk_frame.h) 0; in a page by
 * which C code calls back the first code: mov al, 0; jmp; mov al, 1; jmp. */
#define LUAJIT_KIND_OFF	 8u
#define LUAJIT_CALLBACKS 0x76eb01b07aeb00b0ull

/* Interrupted code in such a page, which has pushed rbp or not: mov al, i8; jmp; push rbp; mov ah,
 * i8; mov rbp, i64; jmp [rip - d32]. */
WALK_INLINE int luajit_callback(struct env *env, struct fpl_walk *walk)
{
	struct leaf_code code;
	__u32 opcode;

	if (!walk->exact || walk_code(env, walk, walk->pc, &code))
		return WALK_REGION_NOTHING;
	opcode = code.at & 0xff;
	entry_begin(&walk->rule);
	if (opcode != 0xb0 && opcode != 0xeb && opcode != 0x55)
		entry_push(&walk->rule, ENTRY_REG(ARCH_SAVED_RBP), 1);
	return WALK_REGION_RULE;
}

/* A trace. One runs while the word behind that of the thread is not 0. */
WALK_INLINE int luajit_trace(struct env *env, struct fpl_walk *walk,
			     const struct fpl_region *region)
{
	__u32 dispatch = region->rule.regs & (FPL_NR_REGS - 1);
	__u64 at = walk->reg[dispatch] + (__u64)(__s64)region->rule.cfa_off, base;

	if (!(walk->known & WALK_BIT(dispatch)) || walk_field(env, walk, at + 8, &base) || !base)
		return WALK_REGION_NOTHING;
	walk->rule = region->rule;
	return WALK_REGION_RULE;
}

/* Code in the mapping found last, of a process with LuaJIT. */
WALK_INLINE int walk_by_luajit(struct env *env, struct fpl_walk *walk,
			       const struct fpl_region *region, __u64 kind)
{
	return kind == LUAJIT_CALLBACKS ? luajit_callback(env, walk)
					: luajit_trace(env, walk, region);
}

/* The word by which the code in the mapping found last is known; 0: sljit's. */
WALK_INLINE __u64 luajit_kind(struct env *env, const struct fpl_walk *walk)
{
	__u64 kind = 0;

	return env_read_code(env, &kind, sizeof(kind), walk->last.start + LUAJIT_KIND_OFF) ? 0
											   : kind;
}
