/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of code made at run time in which rsp stays where the entry to the code has put it: one
 * rule holds for all of it but the entry and the end. The rule is known with the region, or is read
 * off the first instructions of the function, which sljit's allocator of code leads to.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/entry_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/walk_fp.h"
#include "bpf/walk_read.h"

/* Results of walk_region(). */
enum walk_region {
	WALK_REGION_NOTHING, /* no method knows this code */
	WALK_REGION_RULE,    /* walk->rule leads to the caller */
	WALK_REGION_STEP,    /* the step to the caller was taken */
	WALK_REGION_END,     /* its method cannot tell the caller: walk->ra_stop says why */
	WALK_REGION_FOLLOW,  /* walk_by_following() may know: never a result of walk_region() */
};

/* Drop the first @bytes (1 to 7) of the code at and behind the pc. */
WALK_INLINE void frame_skip(struct leaf_code *code, __u32 bytes)
{
	code->at = code->at >> 8 * bytes | code->then << (64 - 8 * bytes);
	code->then >>= 8 * bytes;
}

/* How many bytes the `pop` at the pc has, its prefix included; 0: none is there. */
WALK_INLINE __u32 frame_pop(const struct leaf_code *code)
{
	return (code->at & 0xf8) == 0x58 ? 1 : (code->at & 0xf8f0) == 0x5840 ? 2 : 0;
}

/* At the end of a function, where @code pops registers and returns, so many words of its frame are
 * left, the return address included. 0: the end is not here. */
WALK_INLINE __u32 frame_left(struct leaf_code code)
{
	__u32 words = 1;

	if ((code.at & 0xffffff) == 0x77f8c5) /* vzeroupper */
		frame_skip(&code, 3);
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++) {
		__u32 size = frame_pop(&code);

		if (size) {
			frame_skip(&code, size);
			words++;
		}
	}
	return (code.at & 0xff) == 0xc3 ? words : 0;
}

/* The frame of walk->rule has @words left. */
WALK_INLINE void frame_trim(struct fpl_walk *walk, __u32 words)
{
	struct fpl_rule *rule = &walk->rule;

	rule->cfa_off = 8 * (__s32)words;
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++)
		if (rule->saved[i] < -(__s32)words)
			rule->saved[i] = FPL_SAVED_SAME;
}

/*
 * walk->rule holds in the frame; the pc is that of an interrupted instruction, which may be at the
 * frame's end. Code in [@start, @end) may call parts of itself: these take the return address off
 * the stack first, and put it back last.
 */
WALK_INLINE int frame_leaf(struct env *env, struct fpl_walk *walk, __u64 start, __u64 end)
{
	struct walker walker = { .walk = walk, .env = env };
	struct leaf_code code;
	__u32 words;
	__u64 top;

	if (walk_code(env, walk, walk->pc, &code))
		return WALK_REGION_RULE; /* its return address must hold up */
	words = frame_left(code);
	if ((words == 1 || (!words && frame_pop(&code))) &&
	    !walk_read(&walker, walk->reg[ARCH_SP], &top) && top - start < end - start)
		walk->rule.cfa_off += 8;
	else if (words)
		frame_trim(walk, words);
	return WALK_REGION_RULE;
}

/*
 * sljit's allocator takes chunks of 64 KiB or a multiple of that. A chunk is blocks, each of which
 * begins with its own size and that of the block before it in bytes. A free one has 0, and its size
 * in the fifth word; what ends the chunk has 1. Neighbouring chunks may be one mapping.
 */
#define SLJIT_CHUNK	  0x10000ull
#define SLJIT_HEAD_BYTES  16u
#define SLJIT_FREE_OFF	  32u
#define SLJIT_END	  1u
#define SLJIT_HOPS	  512u
#define SLJIT_BLOCK_BYTES (1ull << 26) /* the most that are believed */

/* The words of walk->blob. */
enum {
	SLJIT_SIZE,
	SLJIT_BEFORE,
	SLJIT_FIRST_SIZE, /* of a chunk that follows an end */
	SLJIT_FIRST_BEFORE,
	SLJIT_NR_READ,
	SLJIT_LAST = SLJIT_NR_READ, /* the size of the block before walk->blob_segment */
	SLJIT_NR_WORDS,
};
_Static_assert(SLJIT_NR_WORDS <= FPL_BLOB_BYTES / 8, "they have room");

struct sljit_search {
	struct fpl_walk *walk;
	struct env *env;
	__u64 pc;
};

/* From one block to the next, until one has the pc: walk->blob_found is its size, if it has code.
 */
static long sljit_hop(__u32 idx, void *arg)
{
	struct sljit_search *search = arg;
	struct fpl_walk *walk = search->walk;
	__u64 at = walk->blob_segment, size;

	(void)idx;
	if (env_read_code(search->env, walk->blob, SLJIT_HEAD_BYTES, at) ||
	    walk->blob[SLJIT_BEFORE] != walk->blob[SLJIT_LAST])
		return 1;
	size = walk->blob[SLJIT_SIZE];
	if (size == SLJIT_END) {
		walk->blob[SLJIT_LAST] = 0;
		walk->blob_segment = at + SLJIT_HEAD_BYTES;
		return 0;
	}
	if (!size && env_read_code(search->env, &size, sizeof(size), at + SLJIT_FREE_OFF))
		return 1;
	if (size < SLJIT_HEAD_BYTES || (size & 7) || size > SLJIT_BLOCK_BYTES)
		return 1;
	if (search->pc - at < size) {
		walk->blob_found = walk->blob[SLJIT_SIZE] ? (__u32)size : 0;
		return 1;
	}
	walk->blob[SLJIT_LAST] = size;
	walk->blob_segment = at + size;
	return 0;
}

/* The search for @pc begins here: at a chunk in the mapping found last, or at the start of that. */
WALK_INLINE __u64 sljit_chunk(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	__u64 start = walk->last.start, chunk = start + ((pc - start) & ~(SLJIT_CHUNK - 1));

	if (chunk == start ||
	    env_read_code(env, walk->blob, 8 * SLJIT_NR_READ, chunk - SLJIT_HEAD_BYTES) ||
	    walk->blob[SLJIT_SIZE] != SLJIT_END || walk->blob[SLJIT_FIRST_BEFORE])
		return start;
	return chunk;
}

/* The block of sljit with @pc, in the mapping found last. Returns its size; 0: none is known. */
WALK_INLINE __u32 sljit_block(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	struct sljit_search search = { .walk = walk, .env = env, .pc = pc };

	walk->blob_segment = sljit_chunk(env, walk, pc);
	walk->blob_found = 0;
	walk->blob[SLJIT_LAST] = 0;
	env_loop(SLJIT_HOPS, sljit_hop, &search);
	return walk->blob_found;
}

/*
 * Code at @pc, in the mapping found last, that runs in the frame of its entry: that of @region, at
 * its beginning, or that of the function of sljit. An interrupted instruction may be in the entry.
 */
WALK_INLINE int walk_by_entry(struct env *env, struct fpl_walk *walk,
			      const struct fpl_region *region, __u64 pc)
{
	struct entry entry = { .bytes = (const __u8 *)walk->code,
			       .nr = ENTRY_BYTES,
			       .rule = &walk->rule };
	__u64 entered = region->start, start = walk->last.start, end = walk->last.end;
	int is_function = region->kind != FPL_REGION_FRAME;

	walk->rule = region->rule;
	if (is_function) {
		end = sljit_block(env, walk, pc);
		start = walk->blob_segment;
		end += start;
		entered = start + SLJIT_HEAD_BYTES;
		if (start == end || pc < entered)
			return WALK_REGION_NOTHING;
	}
	if (is_function || (walk->exact && pc - entered < ENTRY_BYTES)) {
		if (env_read_code(env, walk->code, ENTRY_BYTES + 8, entered))
			return WALK_REGION_NOTHING;
		if (walk->exact && pc - entered < ENTRY_BYTES)
			entry.nr = (__u32)(pc - entered);
		entry_begin(&walk->rule);
		env_loop(ENTRY_INSNS, entry_step, &entry);
		if (walk->exact && entry.at == pc - entered)
			return WALK_REGION_RULE;
		if (!entry.is_whole)
			return WALK_REGION_NOTHING;
	}
	return walk->exact ? frame_leaf(env, walk, start, end) : WALK_REGION_RULE;
}
