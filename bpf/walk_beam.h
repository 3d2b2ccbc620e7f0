/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of the code that Erlang's JIT makes (decision 0049). It runs on the stack of an Erlang
 * process, with rsp, and calls C code on the stack of the thread, a constant below rbx. Words of an
 * Erlang stack are terms, whose two low bits are not both 0, and return addresses, which are
 * multiples of 4; with +JPperf saved frame pointers, too, which lead to no code. All forms of code
 * below are those of the JIT for x86-64 of OTP 25 to 27.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/walk_fp.h"
#include "bpf/walk_frame.h"
#include "bpf/walk_read.h"

#define BEAM_FRAME_WORDS 1026u /* of the largest frame */
/* Words of a frame that each may have; those above it are counted, and a walk reads so many. */
#define BEAM_FREE_WORDS	  32u
#define BEAM_STACK_WORDS  8192u
#define BEAM_PUSHED_MAX	  64u  /* bytes on the thread's stack below what calls C code */
#define BEAM_LEAVE_BYTES  248u /* of code from a call of C code to where it is left */
#define BEAM_BEHIND_BYTES 128u /* of code from where a frame is made to where it is filled */
#define BEAM_ALIGNED_BY	  64u  /* the entry aligns rsp by this */

/* Context of the loops. */
struct beam_search {
	struct walker walker;
	__u32 nr;		     /* bytes at walk->code */
	__u32 found;		     /* what was found in them */
	__u32 skip;		     /* bytes of an instruction that are no other's */
	__u8 stack_off, runtime_off; /* of the region */
	__u64 process_main;	     /* of the region */
};

/* The four bytes at @idx of @code. */
WALK_INLINE __u32 beam_code(const __u8 *code, __u32 idx)
{
	return code[idx] | (__u32)code[idx + 1] << 8 | (__u32)code[idx + 2] << 16 |
	       (__u32)code[idx + 3] << 24;
}

enum { BEAM_IN_RBP = 1, BEAM_IN_PROCESS };

/* One byte of the search for the instruction that goes back to the Erlang stack. */
static long beam_leave_one(__u32 idx, void *arg)
{
	struct beam_search *search = (struct beam_search *)arg;
	__u32 code;

	if (idx >= BEAM_LEAVE_BYTES || idx + 4 > search->nr)
		return 1;
	code = beam_code((const __u8 *)search->walker.walk->code, idx);
	/* mov rsp, rbp in both encodings; mov rsp, [r13 + d8] */
	if ((code & 0xffffff) == 0xec8948 || (code & 0xffffff) == 0xe58b48)
		search->found = BEAM_IN_RBP;
	else if (code == (0x658b49 | (__u32)search->stack_off << 24))
		search->found = BEAM_IN_PROCESS;
	/* lea rsp, [rbx + d8]: other code has begun */
	else if (code != (0x638d48 | (__u32)(__u8)-search->runtime_off << 24))
		return 0;
	return 1;
}

/* One byte of the search for the instruction that made the frame last. */
static long beam_lower_one(__u32 idx, void *arg)
{
	struct beam_search *search = (struct beam_search *)arg;
	const __u8 *bytes = (const __u8 *)search->walker.walk->code;
	__u32 code;

	if (idx >= BEAM_BEHIND_BYTES || idx >= search->nr)
		return 1;
	if (search->skip) {
		search->skip--;
		return 0;
	}
	code = beam_code(bytes, idx);
	if ((code & 0xffffff) == 0xec8348 && idx + 4 <= search->nr) { /* sub rsp, i8 */
		search->found = code >> 24;
		search->skip = 3;
	} else if ((code & 0xffffff) == 0xec8148 && idx + 7 <= search->nr) { /* sub rsp, i32 */
		search->found = beam_code(bytes, idx + 3);
		search->skip = 6;
	} else if ((code & 0xff) == 0xc3 || (code & 0xff) == 0xe8 || (code & 0xff) == 0xe9 ||
		   (code & 0xff) == 0xeb || (code & 0xffff) == 0x14ff ||
		   (code & 0xffff) == 0xd7ff || (code & 0xffffff) == 0xc48348) {
		/* ret, call, jmp, add rsp: the frame is another one, or filled. Bytes that only
		 * look like one of these do no harm. */
		search->found = 0;
	}
	return 0;
}

/* The bytes from the stack pointer to the return address in a frame that may not be filled yet: of
 * code that was interrupted or has called C code. 0: unknown. Such a frame may hold return
 * addresses of earlier frames. */
WALK_INLINE __u32 beam_made(struct env *env, struct fpl_walk *walk)
{
	struct beam_search search = { .walker = { .walk = walk, .env = env } };
	__u32 in_page = (__u32)walk->pc & (FPL_STACK_PAGE - 1);

	walk->code[BEAM_BEHIND_BYTES / 8] = 0;
	search.nr = BEAM_BEHIND_BYTES;
	if (env_read_code(env, walk->code, BEAM_BEHIND_BYTES, walk->pc - BEAM_BEHIND_BYTES)) {
		/* the page before is not present */
		search.nr = in_page;
		if (in_page >= BEAM_BEHIND_BYTES ||
		    env_read_code(env, walk->code, BEAM_BEHIND_BYTES, walk->pc - in_page))
			return 0;
	}
	env_loop(BEAM_BEHIND_BYTES, beam_lower_one, &search);
	return (search.found & 7) || search.found > 8 * BEAM_FRAME_WORDS ? 0 : search.found;
}

/* The Erlang stack pointer of code that runs on the stack of the thread; 0: it is unknown. */
WALK_INLINE __u64 beam_stack(struct env *env, struct fpl_walk *walk,
			     const struct fpl_region *region)
{
	struct beam_search search = { .walker = { .walk = walk, .env = env },
				      .nr = BEAM_LEAVE_BYTES,
				      .stack_off = region->beam.stack_off,
				      .runtime_off = region->beam.runtime_off };
	__u32 to_page_end = FPL_STACK_PAGE - ((__u32)walk->pc & (FPL_STACK_PAGE - 1));
	__u64 sp = 0;

	if (env_read_code(env, walk->code, BEAM_LEAVE_BYTES, walk->pc)) {
		search.nr = to_page_end & 255;
		if (to_page_end >= BEAM_LEAVE_BYTES ||
		    env_read_code(env, walk->code, search.nr, walk->pc))
			return 0;
	}
	env_loop(BEAM_LEAVE_BYTES, beam_leave_one, &search);
	if (search.found == BEAM_IN_RBP && (walk->known & WALK_BIT(ARCH_FP)))
		return walk->reg[ARCH_FP];
	if (search.found == BEAM_IN_PROCESS && (walk->known & WALK_BIT(ARCH_R13)) &&
	    env_read_stack(env, &sp, sizeof(sp), walk->reg[ARCH_R13] + region->beam.stack_off)) {
		walk->ra_stop = FPL_STOP_READ_FAULT;
		return 0;
	}
	return sp;
}

/* Is @ra behind code of the JIT? */
WALK_INLINE int beam_is_code(struct walker *walker, __u64 ra)
{
	return walk_is_user(ra) && walk_mapping(walker, ra - 1) &&
	       walk_is_made(walker->walk, ra - 1) && walker->walk->last.bias;
}

/* One word of the search for a return address on an Erlang stack. */
static long beam_word(__u32 idx, void *arg)
{
	struct beam_search *search = (struct beam_search *)arg;
	struct fpl_walk *walk = search->walker.walk;
	__u64 word;

	if (walk_read(&search->walker, walk->blob_segment, &word)) {
		walk->ra_stop = FPL_STOP_READ_FAULT;
		return 1;
	}
	walk->blob_segment += 8;
	if ((word & 3) || !beam_is_code(&search->walker, word))
		return 0;
	walk->ra = word;
	walk->blob_found = idx + 1;
	return 1;
}

/* Find the first return address from @sp on: it is walk->ra, and walk->blob_segment behind it. */
WALK_INLINE int beam_find(struct env *env, struct fpl_walk *walk, __u64 sp)
{
	struct beam_search search = { .walker = { .walk = walk, .env = env } };

	walk->blob_segment = sp;
	walk->blob_found = 0;
	env_loop(walk->stack_words < BEAM_STACK_WORDS ? BEAM_FRAME_WORDS : BEAM_FREE_WORDS,
		 beam_word, &search);
	if (walk->blob_found > BEAM_FREE_WORDS)
		walk->stack_words += walk->blob_found - BEAM_FREE_WORDS;
	return walk->blob_found != 0;
}

/* Was the code that runs at @sp called by code that did not align its return address? It is a
 * part of the JIT that all code shares and that keeps nothing on the Erlang stack. */
WALK_INLINE int beam_is_fragment(struct env *env, struct fpl_walk *walk, __u64 sp)
{
	struct walker walker = { .walk = walk, .env = env };
	__u64 ra;

	if (walk_read(&walker, sp, &ra) || !(ra & 3) || !beam_is_code(&walker, ra) ||
	    walk_is_ra(&walker, ra) != WALK_RA_YES)
		return 0;
	walk->ra = ra;
	walk->blob_segment = sp + 8;
	return 1;
}

/* Find the return address of code that has the Erlang stack pointer @sp: walk->ra, and
 * walk->blob_segment behind it. @is_leaf: it is the innermost Erlang code. */
WALK_INLINE int beam_ra(struct env *env, struct fpl_walk *walk, __u64 sp, int is_leaf)
{
	__u32 made = is_leaf ? beam_made(env, walk) : 0;

	return (is_leaf && !made && beam_is_fragment(env, walk, sp)) ||
	       beam_find(env, walk, sp + made);
}

/* One word of the search for the return address of process_main(): the next one is below it. */
static long beam_caller_one(__u32 idx, void *arg)
{
	struct beam_search *search = (struct beam_search *)arg;
	struct fpl_walk *walk = search->walker.walk;
	__u64 ra;

	(void)idx;
	if (walk_read(&search->walker, walk->blob_segment, &ra)) {
		walk->ra_stop = FPL_STOP_READ_FAULT;
		return 1;
	}
	walk->blob_segment -= 8;
	if (walk_is_ra(&search->walker, ra) != WALK_RA_YES ||
	    leaf_call_target(ra, walk->call) != search->process_main)
		return 0;
	walk->ra = ra;
	walk->blob_found = 1;
	return 1;
}

/* Go to what has called @process_main on the stack of the thread. */
WALK_INLINE int beam_to_thread(struct env *env, struct fpl_walk *walk, __u64 process_main)
{
	struct beam_search search = { .walker = { .walk = walk, .env = env },
				      .process_main = process_main };

	walk->window_size = walk->window_near = 0;
	walk->blob_found = 0;
	env_loop(BEAM_ALIGNED_BY / 8, beam_caller_one, &search);
	if (!walk->blob_found)
		return WALK_REGION_END;
	walk->reg[ARCH_SP] = walk->blob_segment + 16;
	walk->known = WALK_BIT(ARCH_SP);
	walk_to(walk, walk->ra, 0, walk->by_row);
	return WALK_REGION_STEP;
}

/* Step to the caller of the code at @pc, in the mapping found last. Where an Erlang process has no
 * more frames the caller is that of the JIT's entry. */
WALK_INLINE int walk_by_beam(struct env *env, struct fpl_walk *walk,
			     const struct fpl_region *region, __u64 pc)
{
	const struct fpl_region_beam *beam = &region->beam;
	__u64 sp = walk->reg[ARCH_SP], registers = walk->reg[ARCH_RBX];
	__u32 on_thread = registers - beam->runtime_off - sp <= BEAM_PUSHED_MAX;

	walk->ra_stop = FPL_STOP_NO_CFI;
	walk->ra = beam->normal_exit;
	if (!(walk->known & WALK_BIT(ARCH_RBX)))
		return WALK_REGION_END;
	if (!on_thread || pc - beam->entry >= beam->entry_bytes) {
		if (on_thread) {
			sp = beam_stack(env, walk, region);
			walk->window_size = walk->window_near = 0;
		}
		if (!sp || (sp & 7) || !beam_ra(env, walk, sp, on_thread || walk->exact))
			return WALK_REGION_END;
	}
	if (walk->ra == beam->normal_exit) {
		walk->blob_segment = registers + beam->caller_off;
		return beam_to_thread(env, walk, beam->process_main);
	}
	walk->reg[ARCH_SP] = walk->blob_segment;
	walk->known &= WALK_BIT(ARCH_SP) | WALK_BIT(ARCH_RBX) | WALK_BIT(ARCH_R13);
	walk_to(walk, walk->ra, 0, walk->by_row);
	return WALK_REGION_STEP;
}
