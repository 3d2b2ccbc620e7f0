/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps to the caller without CFI: by the frame pointer, or by the code around the pc, which shows
 * the return address before the frame is made and after it is gone.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/leaf_x86_64.h"
#include "bpf/lookup.h"
#include "bpf/walk_probes.h"
#include "bpf/walk_read.h"

#define WALK_AROUND 32u /* bytes of code read around a pc */

/* Read the code around @pc, from its own page, which is present. Returns 0, or non-zero if it could
 * not be read. */
WALK_INLINE int walk_code(struct env *env, struct fpl_walk *walk, __u64 pc, struct leaf_code *ret)
{
	__u64 page = pc & ~(__u64)(FPL_STACK_PAGE - 1);
	__u64 start = pc - 8 < page ? page : pc - 8;
	__u64 *words = walk->code;

	if (start > page + FPL_STACK_PAGE - WALK_AROUND)
		start = page + FPL_STACK_PAGE - WALK_AROUND;
	if (env_read_code(env, words + 1, WALK_AROUND, start))
		return 1;
	words[0] = words[5] = words[6] = 0;

	const __u64 *first = words + ((pc - start) >> 3 & 3);
	__u64 shift = ((pc - start) & 7) * 8;

	ret->before = first[0] >> shift | first[1] << 1 << (63 - shift);
	ret->at = first[1] >> shift | first[2] << 1 << (63 - shift);
	ret->then = first[2] >> shift | first[3] << 1 << (63 - shift);
	return 0;
}

enum { WALK_SAID_BIRTH = 2 };

/* Can the frame, whose pc is exact, be behind a system call that has made its thread or process? */
WALK_INLINE int walk_may_be_born(const struct fpl_walk *walk)
{
	return (walk->known & WALK_BIT(ARCH_RESULT)) && !walk->reg[ARCH_RESULT];
}

/* Look for the return address in the code around @pc, into walk->leaf_*. Returns 1 if the code
 * shows it, 0 if not, -1 if the code could not be read, WALK_SAID_BIRTH at the birth of a thread or
 * process, which has no caller. */
WALK_INLINE int walk_look_around(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	struct leaf_place place;
	struct leaf_code code;
	int is_said;

	if (walk_code(env, walk, pc, &code))
		return -1;
	if (!walk->exact) {
		is_said = leaf_will_return(&code, &place);
		walk->leaf_ra_off = place.ra_off;
		walk->leaf_fp_saved = place.fp_saved;
		return is_said;
	}
	if (walk_may_be_born(walk) && leaf_is_birth(&code))
		return WALK_SAID_BIRTH;
	is_said = leaf_find(&code, &place);
	walk->leaf_ra_off = place.ra_off;
	walk->leaf_fp_saved = place.fp_saved;
	return is_said;
}
WALK_ONCE(walk_leaf_said, walk_look_around, -1)

/* Is the frame, whose pc is exact, the birth of a thread or process? A row made from code leads its
 * parent to the caller there; the child has none. */
WALK_INLINE int walk_is_born(struct walker *walker)
{
	return walk_may_be_born(walker->walk) &&
	       walk_leaf_said(walker, walker->walk->pc) == WALK_SAID_BIRTH;
}

/* Code in walk->code that is searched for instructions that move the stack pointer. */
struct walk_scan {
	const __u8 *bytes; /* [LEAF_REACH + 8] */
	__u64 nr;
	__u32 moved;
};

static long walk_scan_one(__u32 idx, void *arg)
{
	struct walk_scan *scan = arg;
	const __u8 *bytes = scan->bytes;

	if (idx >= LEAF_REACH || idx + 2 >= scan->nr)
		return 1;
	scan->moved = (__u32)leaf_moves_sp(bytes[idx] | (__u32)bytes[idx + 1] << 8 |
					   (__u32)bytes[idx + 2] << 16);
	return scan->moved;
}

/* Has no instruction from @target to @pc moved the stack pointer? False if they are far apart. */
WALK_INLINE int walk_is_bare(struct env *env, struct fpl_walk *walk, __u64 target, __u64 pc)
{
	struct walk_scan scan = { .bytes = (const __u8 *)walk->code, .nr = pc - target };
	__u64 nr = pc - target;

	if (!target)
		return 0;
	LOOKUP_OPAQUE(nr);
	if (nr > LEAF_REACH || env_read_code(env, walk->code, (__u32)nr, target))
		return 0;
	env_loop(LEAF_REACH, walk_scan_one, &scan);
	return !scan.moved;
}

/* Results of walk_leaf_step(). */
enum walk_leaf {
	WALK_LEAF_NOTHING,
	WALK_LEAF_STEP,	 /* the step to the caller was taken */
	WALK_LEAF_BIRTH, /* there is no caller */
};

/*
 * Step to the caller of the code at @pc, walk->pc, if its return address is not behind rbp
 * (prologue, epilogue, leaf without a frame; for a return address: a frame that the next two
 * instructions remove), or find that it has no caller. Returns enum walk_leaf.
 */
WALK_INLINE int walk_leaf_step(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	struct walker walker = { .walk = walk, .env = env };
	__u64 sp = walk->reg[ARCH_SP], ra, saved;

	if (sp & 7)
		return WALK_LEAF_NOTHING;

	int is_said = walk_leaf_said(&walker, pc);
	__u64 ra_addr = sp + walk->leaf_ra_off;

	if (is_said == WALK_SAID_BIRTH)
		return WALK_LEAF_BIRTH;
	if (!is_said && !walk->exact)
		return WALK_LEAF_NOTHING;
	if (is_said < 0 || walk_read_ra(&walker, ra_addr, &ra) ||
	    walk_is_ra(&walker, ra) == WALK_RA_NO)
		return WALK_LEAF_NOTHING;
	if (!is_said && !walk_is_bare(env, walk, leaf_call_target(ra, walk->call), pc))
		return WALK_LEAF_NOTHING;
	if (walk->leaf_fp_saved &&
	    (walk_read(&walker, ra_addr - 8, &saved) || saved != walk->reg[ARCH_FP]))
		return WALK_LEAF_NOTHING;
	walk->reg[ARCH_SP] = ra_addr + 8;
	walk->known = WALK_BIT(ARCH_FP) | WALK_BIT(ARCH_SP);
	walk_to(walk, ra, 0, FPL_ORIGIN_FP);
	return WALK_LEAF_STEP;
}
WALK_ONCE(walk_leaf, walk_leaf_step, WALK_LEAF_NOTHING)

/* Is the mapping found last the one of @addr, and is it code made at run time? */
WALK_INLINE int walk_is_made(const struct fpl_walk *walk, __u64 addr)
{
	return (walk->last.flags & FPL_MAPPING_ANON) && walk->last.start <= addr &&
	       addr < walk->last.end;
}

#define WALK_FRAME_MAX (1u << 20) /* the largest frame believed on the next one's word */

/*
 * Is @ra a return address although no call precedes it? An interpreter made at run time (HotSpot's)
 * pushes the address at which it goes on and jumps to compiled code. It is believed if both are
 * made at run time, and the frame pointer behind @caller_fp leads to a return address, too. To be
 * called with the mapping of @ra found last, if there is one.
 */
WALK_INLINE int walk_is_pushed(struct walker *walker, __u64 fp, __u64 caller_fp, __u64 ra)
{
	__u64 beyond;

	if (!walk_is_made(walker->walk, ra - 1))
		return 0;
	if ((caller_fp & 7) || caller_fp - fp - 1 >= WALK_FRAME_MAX ||
	    walk_read_ra(walker, caller_fp + ARCH_FP_RA_OFF, &beyond))
		return 0;
	return walk_is_ra(walker, beyond) == WALK_RA_YES || walk_is_made(walker->walk, beyond - 1);
}

/*
 * Is the return address that goes with @caller_fp, the word at @fp, a true one although the page
 * before it is not present? The frame behind it must hold up.
 */
WALK_INLINE int walk_is_chained(struct walker *walker, __u64 fp, __u64 caller_fp)
{
	__u64 beyond;

	return !(caller_fp & 7) && caller_fp - fp - 1 < WALK_FRAME_MAX &&
	       !walk_read_ra(walker, caller_fp + ARCH_FP_RA_OFF, &beyond) &&
	       walk_is_ra(walker, beyond) != WALK_RA_NO;
}

/* Do @caller_fp and @ra, the two words at @fp, hold up as a frame? @made: the pc is in code made at
 * run time. */
WALK_INLINE int walk_holds_up(struct walker *walker, __u64 fp, __u64 caller_fp, __u64 ra, int made)
{
	struct fpl_walk *walk = walker->walk;
	int is_ra = walk_is_ra(walker, ra);

	if (is_ra == WALK_RA_YES)
		return 1;
	if (is_ra == WALK_RA_UNREAD) {
		int is_chained = walk_is_chained(walker, fp, caller_fp);

		walk->fp_open = is_chained ? WALK_OPEN_NOT : WALK_OPEN_READ; /* it is in the file */
		return is_chained;
	}
	if (made && walk_is_pushed(walker, fp, caller_fp, ra))
		return 1;
	walk->fp_open =
		walk_is_user(ra) && !walk_mapping(walker, ra - 1) ? WALK_OPEN_READ : WALK_OPEN_NOT;
	return 0;
}

/*
 * Step to the caller by the frame pointer, for code without CFI. Check everything that can be
 * checked, since such code may use the register for anything. @made: the code is made at run time.
 */
WALK_INLINE int walk_by_fp(struct walker *walker, int made)
{
	struct fpl_walk *walk = walker->walk;
	__u64 fp = walk->reg[ARCH_FP], caller_fp, ra;

	if (walk->unwind != FPL_UNWIND_AUTO || !(walk->known & WALK_BIT(ARCH_FP)))
		return FPL_STOP_NO_CFI;
	if (!fp)
		return FPL_STOP_FP_END;
	if ((fp & 7) || !(walk->known & WALK_BIT(ARCH_SP)) || fp < walk->reg[ARCH_SP])
		return FPL_STOP_NO_CFI;
	if (walk_read(walker, fp, &caller_fp) || walk_read_ra(walker, fp + ARCH_FP_RA_OFF, &ra))
		return FPL_STOP_NO_CFI;
	if (!walk_holds_up(walker, fp, caller_fp, ra, made))
		return FPL_STOP_NO_CFI;
	walk->reg[ARCH_FP] = caller_fp;
	walk->reg[ARCH_SP] = fp + ARCH_FP_CFA_OFF;
	walk->known = WALK_BIT(ARCH_FP) | WALK_BIT(ARCH_SP);
	return walk_to(walk, ra, 0, FPL_ORIGIN_FP);
}
