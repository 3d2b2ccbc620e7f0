/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks under return probes (uretprobes) of other tools: the kernel replaces return addresses by
 * that of a trampoline and keeps the true ones in a list of pending calls.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/shared.h"
#include "bpf/walk_read.h"

#define WALK_NO_TRAMPOLINE 1u /* walk->trampoline if the process has no trampoline */

/* To be called when a walk begins. */
WALK_INLINE void walk_forget_probes(struct fpl_walk *walk)
{
	walk->trampoline = 0;
	walk->pending = 0;
}

WALK_INLINE __u64 walk_trampoline(struct env *env, struct fpl_walk *walk)
{
	if (!walk->trampoline) {
		__u64 addr = env_trampoline(env);

		walk->trampoline = addr ? addr : WALK_NO_TRAMPOLINE;
	}
	return walk->trampoline;
}

/* If walk->word, a return address read at @slot, is the trampoline of return probes, replace it by
 * the true one, if known. Returns 0. */
WALK_INLINE int walk_probed(struct env *env, struct fpl_walk *walk, __u64 slot)
{
	__u64 ra;

	if (walk->word != walk_trampoline(env, walk))
		return 0;
	walk->is_probed = 1;
	ra = env_return_address(env, slot, &walk->pending);
	if (ra)
		walk->word = ra;
	return 0;
}
WALK_ONCE(walk_look_behind, walk_probed, 0)

/* Replace *@ra, a return address read at @slot, by the true one if it is the trampoline of return
 * probes. */
WALK_INLINE void walk_true_ra(struct walker *walker, __u64 slot, __u64 *ra)
{
	if (*ra & (FPL_STACK_PAGE - 1))
		return;
	walker->walk->word = *ra;
	walk_look_behind(walker, slot);
	*ra = walker->walk->word;
}

/* A search among the registers of the kernel. */
struct walk_unlisted {
	struct walker *walker;
	__u64 slot;
	__u64 ra; /* 0: none yet */
	__u32 nr; /* of different ones */
};

static long walk_unlisted_one(__u32 idx, void *arg)
{
	struct walk_unlisted *unlisted = arg;
	__u64 value = env_kernel_reg(unlisted->walker->env, unlisted->slot, idx);

	if (value == unlisted->ra || walk_is_ra(unlisted->walker, value) != WALK_RA_YES)
		return 0;
	unlisted->ra = value;
	return ++unlisted->nr > 1;
}

/*
 * If the call whose return address was at @slot is not in the list yet, make walk->pc the true one,
 * if that is certain: the kernel has stored the trampoline in the slot and still holds the address
 * it took from there in one of its registers, whose only values of the program are those it has
 * just read. Returns 0.
 */
WALK_INLINE int walk_unlisted(struct env *env, struct fpl_walk *walk, __u64 slot)
{
	struct walker walker = { .walk = walk, .env = env };
	struct walk_unlisted unlisted = { .walker = &walker, .slot = slot };

	env_loop(ARCH_PT_GENERAL, walk_unlisted_one, &unlisted);
	if (unlisted.nr == 1)
		walk->pc = unlisted.ra;
	return 0;
}
WALK_ONCE(walk_look_into_kernel, walk_unlisted, 0)

/* Replace walk->pc, a return address by which a rule has stepped, by the true one. */
WALK_INLINE void walk_true_pc(struct walker *walker)
{
	struct fpl_walk *walk = walker->walk;
	__u64 slot = walk->reg[ARCH_SP] - 8;

	walk_true_ra(walker, slot, &walk->pc);
	if (walk->pc == walk->trampoline && walk->has_kernel_regs)
		walk_look_into_kernel(walker, slot);
}

/* Read the return address at @slot. Returns 0, or non-zero if it could not be read. */
WALK_INLINE int walk_read_ra(struct walker *walker, __u64 slot, __u64 *ret)
{
	if (walk_read(walker, slot, ret))
		return 1;
	walk_true_ra(walker, slot, ret);
	return 0;
}

/* The return address of the function that has returned to the trampoline, whose byte @off is next,
 * and its slot in *@ret_slot. 0: unknown. */
WALK_INLINE __u64 walk_returned(struct env *env, struct fpl_walk *walk, __u64 off, __u64 *ret_slot)
{
	struct walker walker = { .walk = walk, .env = env };
	int in_handler = off == ARCH_TRAMPOLINE_SYSCALL && walk->reg[ARCH_RCX] != walk->pc;
	/* In memory, where the verifier does not tell one number from another. */
	volatile __s32 *nr_pushed = &walk->nr_pushed;
	__u64 slot, ra;

	*nr_pushed = in_handler ? 0 : arch_trampoline_pushed(walk->code, off);
	if (*nr_pushed < 0)
		return 0;
	slot = walk->reg[ARCH_SP] + 8 * (__u64)*nr_pushed - 8;
	*ret_slot = slot;
	ra = env_return_address(env, slot, &walk->pending);
	if (ra)
		return ra;
	if (in_handler) {
		/* only the write of the address to its slot is missing */
		*ret_slot = slot + 8 * ARCH_TRAMPOLINE_PUSHES;
		return env_returned_address(env, *ret_slot);
	}
	/* and that, too */
	return !walk_read(&walker, slot, &ra) && walk_is_ra(&walker, ra) == WALK_RA_YES ? ra : 0;
}

/*
 * If @pc, which is exact, is in the page of the trampoline, replace the frame by the program's: an
 * instruction executed there has its own place in the program; in the trampoline the function has
 * returned, and the registers are the caller's except for the trampoline's pushes. Returns 0 if @pc
 * is elsewhere, or the caller is unknown.
 */
WALK_INLINE int walk_off_probes(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	__u64 start = walk_trampoline(env, walk), slot = 0, ra;

	if (pc - start >= FPL_STACK_PAGE)
		return 0;
	walk->word = env_program_pc(env, pc);
	if (walk->word) {
		walk->pc = walk->word;
		return 1;
	}
	/* A process's first return by the trampoline faults: its page is not there yet, so its
	 * bytes cannot be read. Its first instruction needs none. */
	if (pc != start && env_read_code(env, walk->code, ARCH_TRAMPOLINE_BYTES, start))
		return 0;
	walk->is_probed = 1;
	ra = walk_returned(env, walk, pc - start, &slot);
	if (!ra)
		return 0;
	walk->reg[ARCH_SP] = slot + 8;
	walk->known = (walk->known & ARCH_CALLEE_SAVED) | WALK_BIT(ARCH_SP);
	walk->pc = ra;
	return 1;
}
WALK_ONCE(walk_leave_probes, walk_off_probes, 0)
