/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step from the system stack of a Go thread to the goroutine it runs: FPL_CFA_G_CALL,
 * FPL_CFA_G_RESUME and FPL_CFA_HEIGHT of bpf/shared.h. The step reads the run time's memory, so
 * with a copy of the stack alone it ends with READ_FAULT. If the structures do not point to each
 * other, the register is not the g that the row needs: REG_UNKNOWN.
 *
 * A thread that resumes a goroutine owns it while it is still in the scheduler, on a stack that may
 * begin in morestack: so only a goroutine that called morestack is accepted as that function's
 * caller.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/walk_read.h"

/* Read the word at @addr. The window stays on the stack. */
WALK_INLINE int walk_field(struct env *env, struct fpl_walk *walk, __u64 addr, __u64 *ret)
{
	if (env_read_stack(env, &walk->word, sizeof(walk->word), addr))
		return 1;
	*ret = walk->word;
	return 0;
}

/* Is @sp, the address of a word of the caller, in the stack [@lo, @hi)? */
WALK_INLINE int walk_in_goroutine(__u64 sp, __u64 lo, __u64 hi)
{
	return lo < sp && sp < hi && !(sp & 7);
}

/*
 * Does a call before @ra lead to the function of walk->pc, or to the one behind it, which jumps to
 * it (morestack_noctxt)? The sizes of both are known.
 */
WALK_INLINE int walk_called_here(struct env *env, struct fpl_walk *walk, __u64 ra)
{
	enum { CALL = 0xe8, BEFORE = 192, BEHIND = 64 };
	__u64 to;

	if (env_read_code(env, &walk->call, sizeof(walk->call), ra - sizeof(walk->call)))
		return 0;
	to = ra + (__u64)(__s64)(__s32)(walk->call >> 32);
	return (walk->call >> 24 & 0xff) == CALL && to - (walk->pc - BEFORE) < BEFORE + BEHIND;
}

/*
 * Find the caller by the goroutine's g, as the rule says: the CFA into walk->word; the return
 * address, if already read, into walk->ra.
 */
WALK_INLINE int walk_saved_by_g(struct env *env, struct fpl_walk *walk, __u64 g)
{
	__u64 at = g + (__u64)(__s64)walk->rule.cfa_off;
	__u64 lo, hi, sp;

	if (walk_field(env, walk, g, &lo) || walk_field(env, walk, g + 8, &hi) ||
	    walk_field(env, walk, at, &sp))
		return FPL_STOP_READ_FAULT;
	if (!walk_in_goroutine(sp, lo, hi))
		return FPL_STOP_REG_UNKNOWN;
	if (walk->rule.cfa == FPL_CFA_G_RESUME) {
		if (walk_field(env, walk, at + 8, &walk->ra))
			return FPL_STOP_READ_FAULT;
		if (!walk_called_here(env, walk, walk->ra))
			return FPL_STOP_REG_UNKNOWN;
	} else {
		if (walk_field(env, walk, sp, &walk->ra))
			return FPL_STOP_READ_FAULT;
		sp += 8;
	}
	walk->word = sp;
	walk->reg[walk->rule.regs & 15] = g;
	return FPL_STOP_NONE;
}

WALK_INLINE int walk_by_g(struct env *env, struct fpl_walk *walk, __u64 any_g)
{
	const struct fpl_rule *rule = &walk->rule;
	__u64 g_m = 8 * (rule->regs >> 4);
	__u64 m, g, g0, sp;

	if (walk_field(env, walk, any_g + g_m, &m) || walk_field(env, walk, m, &g0) ||
	    walk_field(env, walk, g0 + (__u64)(__s64)rule->cfa_off, &sp))
		return FPL_STOP_READ_FAULT;
	if (sp != walk->reg[ARCH_SP])
		return FPL_STOP_REG_UNKNOWN;
	if (walk_field(env, walk, m + (__u64)(__s64)rule->off2, &g))
		return FPL_STOP_READ_FAULT;
	/* The goroutine has given way to the scheduler, which does not return. */
	if (!g && rule->cfa == FPL_CFA_G_RESUME)
		return FPL_STOP_OUTERMOST;
	if (walk_field(env, walk, g + g_m, &sp))
		return FPL_STOP_READ_FAULT;
	return sp == m ? walk_saved_by_g(env, walk, g) : FPL_STOP_REG_UNKNOWN;
}

WALK_INLINE int walk_by_height(struct env *env, struct fpl_walk *walk, __u64 base)
{
	__u64 at = base + (__u64)(__s64)walk->rule.cfa_off;
	__u64 g, lo, hi, height;

	if (walk_field(env, walk, at, &g) || walk_field(env, walk, at - 8, &height) ||
	    walk_field(env, walk, g, &lo) || walk_field(env, walk, g + 8, &hi))
		return FPL_STOP_READ_FAULT;
	if (!walk_in_goroutine(hi - height, lo, hi))
		return FPL_STOP_REG_UNKNOWN;
	if (walk_field(env, walk, hi - height, &walk->ra))
		return FPL_STOP_READ_FAULT;
	walk->word = hi - height + (__u64)(__s64)walk->rule.off2;
	return FPL_STOP_NONE;
}

/* Step by walk->rule; @value: of its register R. The CFA is left in walk->word, RA in walk->ra. */
WALK_INLINE int walk_goroutine(struct env *env, struct fpl_walk *walk, __u64 value)
{
	walk->ra_said = 1;
	walk->ra_stop = FPL_STOP_NONE;
	return walk->rule.cfa == FPL_CFA_HEIGHT ? walk_by_height(env, walk, value)
						: walk_by_g(env, walk, value);
}
WALK_ONCE(walk_to_goroutine, walk_goroutine, FPL_STOP_EXPR)
