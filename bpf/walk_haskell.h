/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of Haskell code: FPL_CFA_HASKELL of bpf/shared.h (decision 0051). It leaves rsp where
 * StgRun of GHC's run time has put it, and has a stack of its own, on the heap, with rbp. A frame
 * there begins with the address of code, the words before which say what the frame is: its layout,
 * its type. The walk tells those frames first, then goes on in the C code that called StgRun.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/leaf_x86_64.h"
#include "bpf/walk_goroutine.h"
#include "bpf/walk_read.h"

#define HASKELL_PUSHED_MAX  8u	   /* words that are pushed for C code before it is called */
#define HASKELL_ARGS_MAX    16u	   /* words of arguments below the first frame */
#define HASKELL_FRAME_WORDS 65536u /* of the largest frame */
#define HASKELL_CHUNK_HEAD  24u	   /* bytes of a chunk of the stack, before its words */
#define HASKELL_IS_OVER	    1ull   /* in the place of an address: there are no more frames */

/* StgRun begins with sub rsp, 48; mov rax, rsp; sub rsp, i32. */
#define HASKELL_RUN_CODE  0x48e0894830ec8348ull
#define HASKELL_RUN_THEN  0xec81ull
#define HASKELL_RUN_SAVES 48u

/* Types of frames, less that of the last one. The size of the others is in their layout. */
#define HASKELL_SMALLEST   (-6) /* RET_SMALL */
#define HASKELL_BIG	   (-5) /* RET_BIG */
#define HASKELL_FUN	   (-4) /* RET_FUN */
#define HASKELL_UNDERFLOW  (-1) /* UNDERFLOW_FRAME */
#define HASKELL_STOP	   0	/* STOP_FRAME */
#define HASKELL_ATOMICALLY 19	/* ATOMICALLY_FRAME, CATCH_RETRY_FRAME, CATCH_STM_FRAME */
#define HASKELL_CATCH_STM  21

/* Is the word at @idx of those that may be the return address of StgRun behind a call of it? */
static long haskell_run_one(__u32 idx, void *arg)
{
	struct walker *walker = (struct walker *)arg;
	struct fpl_walk *walk = walker->walk;
	__u64 frame = (__u64)(__s64)walk->rule.cfa_off, ra, run;
	__u64 room = frame - HASKELL_RUN_SAVES - ARCH_RA_BYTES;

	if (walk_field(walker->env, walk, walk->reg[ARCH_SP] + frame + 8 * idx - ARCH_RA_BYTES,
		       &ra)) {
		walk->ra_stop = FPL_STOP_READ_FAULT;
		return 1;
	}
	if (walk_is_ra(walker, ra) != WALK_RA_YES)
		return 0;
	run = leaf_call_target(ra, walk->call);
	if (!run || env_read_code(walker->env, walk->code, 16, run) ||
	    walk->code[0] != HASKELL_RUN_CODE ||
	    walk->code[1] << 16 != (HASKELL_RUN_THEN | room << 16) << 16)
		return 0;
	walk->blob_found = idx + 1;
	return 1;
}

/* The address of the first frame in the chunk of the stack behind the frame at @at; 0: unknown. */
WALK_INLINE __u64 haskell_chunk(struct env *env, struct fpl_walk *walk, __u64 at)
{
	__u64 chunk, words;

	if (walk_field(env, walk, at + 8, &chunk) ||
	    env_read_stack(env, walk->blob, HASKELL_CHUNK_HEAD, chunk))
		return 0;
	words = walk->blob[1] & 0xffffffff;
	walk->window_size = walk->window_near = 0;
	return walk->blob[2] - chunk - HASKELL_CHUNK_HEAD < 8 * words ? walk->blob[2] : 0;
}

/* The address of the frame behind the one at @at, which has the code at @info; 0: that is no frame.
 * walk->blob has the layout and the type. */
WALK_INLINE __u64 haskell_next(struct env *env, struct fpl_walk *walk, __u64 at, __u64 info)
{
	__u64 layout = walk->blob[0], words = layout & 63;
	__s32 type = (__s32)walk->blob[1] - walk->rule.off2;

	if (type == HASKELL_STOP)
		return HASKELL_IS_OVER;
	if (type == HASKELL_UNDERFLOW)
		return haskell_chunk(env, walk, at);
	if ((type < HASKELL_SMALLEST || type > HASKELL_STOP) &&
	    (type < HASKELL_ATOMICALLY || type > HASKELL_CATCH_STM))
		return 0;
	if (type == HASKELL_BIG) {
		if (env_read_code(env, &words, sizeof(words), info + (__u64)(__s64)(__s32)layout))
			return 0;
	} else if (type == HASKELL_FUN) {
		if (walk_field(env, walk, at + 8, &words))
			return 0;
	} else if (layout >> 6 >> words) {
		return 0; /* a bit for each word that is no pointer, and none behind them */
	}
	if (words > HASKELL_FRAME_WORDS)
		return 0;
	return at + 8 * (words + (type == HASKELL_FUN ? 3 : 1));
}

/* One word of the search for a frame at walk->haskell_sp or above: walk->ra is its code. */
static long haskell_word(__u32 idx, void *arg)
{
	struct walker *walker = (struct walker *)arg;
	struct fpl_walk *walk = walker->walk;
	__u64 at = walk->haskell_sp, info, next;

	(void)idx;
	walk->haskell_sp = at + 8;
	if (walk_read(walker, at, &info)) {
		walk->ra_stop = FPL_STOP_READ_FAULT;
		return 1;
	}
	if ((info & 7) || !walk_is_user(info) || !walk_mapping(walker, info) ||
	    !walk->last.object || env_read_code(walker->env, walk->blob, 16, info - 16))
		return 0;
	next = haskell_next(walker->env, walk, at, info);
	if (!next)
		return 0;
	walk->haskell_sp = next;
	walk->blob_found = 1;
	walk->ra = info;
	return 1;
}

#define HASKELL_POP_BYTES 16u /* of code before the pc, in which the frame may have been left */

/* One byte of the search for add rbp, i8, which leaves a frame, without a jump behind it. */
static long haskell_pop_one(__u32 idx, void *arg)
{
	struct walker *walker = (struct walker *)arg;
	const __u8 *code = (const __u8 *)walker->walk->code;

	if (idx >= HASKELL_POP_BYTES)
		return 1;
	if (code[idx] == 0x48 && code[idx + 1] == 0x83 && code[idx + 2] == 0xc5 &&
	    code[idx + 3] < 0x80)
		walker->walk->blob_found = 1;
	else if (code[idx] == 0xe9 || (code[idx] == 0xff && (code[idx + 1] & 0x38) == 0x20))
		walker->walk->blob_found = 0; /* jmp rel32; jmp [m], jmp r */
	return 0;
}

/* Bytes from rbp on of the frame that the code at the pc has itself. It may not be filled yet, and
 * has what was there before. */
WALK_INLINE __u32 haskell_own(struct walker *walker)
{
	struct fpl_walk *walk = walker->walk;
	__u32 words = walk->rule.regs >> 4;

	walk->blob_found = 0;
	walk->code[HASKELL_POP_BYTES / 8] = ~0ull; /* no instruction goes on behind the pc */
	if (words && walk->exact &&
	    !env_read_code(walker->env, walk->code, HASKELL_POP_BYTES,
			   walk->pc - HASKELL_POP_BYTES))
		env_loop(HASKELL_POP_BYTES, haskell_pop_one, walker);
	return walk->blob_found ? 0 : 8 * words;
}

/* The Haskell stack begins at @sp, or has words of arguments there. Is rsp as StgRun left it? */
WALK_INLINE int haskell_enter(struct walker *walker, __u64 sp)
{
	struct fpl_walk *walk = walker->walk;
	__u32 needed = WALK_BIT(ARCH_FP) | WALK_BIT(ARCH_SP);

	if ((walk->known & needed) != needed || (sp & 7))
		return 0;
	env_loop(HASKELL_PUSHED_MAX, haskell_run_one, walker);
	if (!walk->blob_found)
		return 0;
	walk->reg[ARCH_SP] += 8 * (walk->blob_found - 1);
	walk->haskell_sp = sp + haskell_own(walker);
	walk->window_size = walk->window_near = 0;
	walk->blob_found = 0;
	return 1;
}

/* Is the stack at an end? Then walk->rule is that of StgRun. */
WALK_INLINE int haskell_leave(struct fpl_walk *walk)
{
	walk->haskell_sp = 0;
	walk->window_size = walk->window_near = 0;
	walk->rule.cfa = FPL_CFA_REG;
	walk->known = WALK_BIT(ARCH_SP);
	walk->exact = 0;
	return FPL_STOP_COUNT;
}

/*
 * Step to the caller of Haskell code, by walk->rule. @sp: the register rbp. Between the frames of
 * the Haskell stack no register is known, so code of another kind leads nowhere. Returns
 * FPL_STOP_COUNT where all have been told: the caller of StgRun is next, by walk->rule.
 */
WALK_INLINE int walk_by_haskell(struct env *env, struct fpl_walk *walk, __u64 sp)
{
	struct walker walker = { .walk = walk, .env = env };
	__u32 nr_words = 1;

	if (walk->haskell_sp == HASKELL_IS_OVER)
		return haskell_leave(walk);
	walk->ra_stop = FPL_STOP_NO_CFI;
	walk->blob_found = 0;
	if (!walk->haskell_sp) {
		if (!haskell_enter(&walker, sp))
			return walk->ra_stop;
		nr_words = HASKELL_ARGS_MAX;
	}
	env_loop(nr_words, haskell_word, &walker);
	if (!walk->blob_found)
		return walk->ra_stop;
	walk->known = 0;
	return walk_to(walk, walk->ra, 1, FPL_ORIGIN_SYNTH);
}
WALK_ONCE(walk_haskell, walk_by_haskell, FPL_STOP_EXPR)
