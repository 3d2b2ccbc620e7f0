/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads of an interpreter's memory, checks of it, and the words of a script frame: the steppers
 * over script frames share them (bpf/script.h, bpf/script_records.h).
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/lookup.h"
#include "bpf/shared_script.h"
#include "bpf/walk_read.h"

/*
 * Move the script window so that it ends @above bytes behind @addr, and @ahead more if those are in
 * the same page. Frames lie behind each other, a caller's below its callee's or ahead of it: one
 * read serves a dozen. It begins at the page's beginning at the lowest, because the memory below
 * may not be there.
 */
WALK_INLINE void script_window(struct env *env, struct fpl_walk *walk, __u64 addr, __u32 above,
			       __u32 ahead)
{
	__u64 page = addr & ~(__u64)(FPL_STACK_PAGE - 1);
	__u64 end = addr + (above & (FPL_WINDOW_SIZE / 2 - 1));
	__u64 last = end + (ahead & (FPL_WINDOW_SIZE / 2 - 1));
	__u64 start, size;

	if (last <= page + FPL_STACK_PAGE)
		end = last;
	start = end - FPL_WINDOW_SIZE + 8;
	if (start < page)
		start = page;
	size = end - start;
	LOOKUP_OPAQUE(size);
	size &= FPL_WINDOW_SIZE - 8;
	walk->script_window_addr = start;
	walk->script_window_size = (__u32)size;
	if (env_read_stack(env, walk->script_window, (__u32)size, start))
		walk->script_window_size = 0;
}

/* Read the word at @addr, a multiple of 8, into walk->word: from the window if it is there. Returns
 * 0, or 1. */
WALK_INLINE int script_word(struct env *env, struct fpl_walk *walk, __u64 addr)
{
	__u64 off = addr - walk->script_window_addr;

	if (off < walk->script_window_size) {
		walk->word = walk->script_window[(off >> 3) & (FPL_WINDOW_SIZE / 8 - 1)];
		return 0;
	}
	return !walk_is_user(addr) || env_read_stack(env, &walk->word, 8, addr);
}

/*
 * Follow @packed, a struct fpl_script_load, from @base: the value is left in walk->word. Returns 0,
 * or 1 where a word cannot be read.
 */
WALK_INLINE int script_follow(struct env *env, struct fpl_walk *walk, __u64 packed, __u64 base)
{
	__u32 bits = (__u32)(packed >> 56), nr = (__u32)(packed >> 48 & 0xff);
	__u64 addr = base + (__u64)(__s64)(__s16)packed;

	if (script_word(env, walk, addr & ~7ull))
		return 1;
	if (nr > 1) {
		addr = (walk->word & ~7ull) + (__u64)(__s64)(__s16)(packed >> 16);
		if (script_word(env, walk, addr & ~7ull))
			return 1;
	}
	if (nr > 2) {
		addr = (walk->word & ~7ull) + (__u64)(__s64)(__s16)(packed >> 32);
		if (script_word(env, walk, addr & ~7ull))
			return 1;
	}
	walk->word >>= (addr & 7) * 8;
	if (bits && bits < 64)
		walk->word &= (1ull << (bits & 63)) - 1;
	return 0;
}

#ifdef __bpf__
WALK_GLOBAL int script_follow_once(struct fpl_walk *walk, __u64 packed, __u64 base)
{
	return walk ? script_follow(0, walk, packed, base) : 1;
}
#endif

/* The value that @load leads to from @base, in *ret. Returns 0, or 1 where a word cannot be read.
 */
WALK_INLINE int script_load(struct env *env, struct fpl_walk *walk,
			    const struct fpl_script_load *load, __u64 base, __u64 *ret)
{
	__u64 packed = *(const __u64 *)load;
#ifdef __bpf__
	int failed = script_follow_once(walk, packed, base);
#else
	int failed = script_follow(env, walk, packed, base);
#endif

	*ret = walk->word;
	return failed;
}

/* Is the value that @packed, a struct fpl_script_load, leads to from @addr the one that the rule at
 * hand checks for? */
WALK_INLINE int script_check(struct env *env, struct fpl_walk *walk, __u64 packed, __u64 addr)
{
	return walk_is_user(addr) && !(addr & 7) && !script_follow(env, walk, packed, addr) &&
	       walk->word - walk->script_check < walk->script_check_size;
}

#ifdef __bpf__
WALK_GLOBAL int script_check_once(struct fpl_walk *walk, __u64 packed, __u64 addr)
{
	return walk ? script_check(0, walk, packed, addr) : 0;
}
#endif

WALK_INLINE int script_passes(struct env *env, struct fpl_walk *walk,
			      const struct fpl_script_load *check, __u64 addr)
{
	__u64 packed = *(const __u64 *)check;

#ifdef __bpf__
	return script_check_once(walk, packed, addr);
#else
	return script_check(env, walk, packed, addr);
#endif
}

/* Does @frame pass the check of @rule? */
WALK_INLINE int script_is_frame(struct env *env, struct fpl_walk *walk,
				const struct fpl_script_rule *rule, __u64 frame)
{
	return script_passes(env, walk, &rule->check, frame);
}

WALK_INLINE void script_add(struct fpl_walk *walk, __u64 word)
{
	__u64 idx = walk->nr_script;

	walk->nr_script++;
	LOOKUP_OPAQUE(idx);
	if (idx < FPL_SCRIPT_WORDS_MAX)
		walk->script_words[idx] = word;
}

/* Words read of a code object at the most, and of a text. */
#define SCRIPT_CONTENT_WORDS 32u
#define SCRIPT_TEXT_WORDS    6u

/*
 * A code object's words have this besides its address: a hash of what the rule's @packed, a struct
 * fpl_script_content, has of it. A pointer is no content where its memory may be freed, because
 * memory that was freed is handed out again in the same order.
 */
WALK_INLINE int script_read_content(struct env *env, struct fpl_walk *walk, __u64 code,
				    __u64 packed)
{
	const __u64 ones = 0x0101010101010101ull;
	/* of a text that ends at its first NUL: what is behind belongs to others */
	const __u64 ends = packed >> 56 ? ones << 7 : 0;
	__u64 *words = walk->code;
	__u64 other = packed >> 32 & (SCRIPT_CONTENT_WORDS - 1);
	__u64 last = packed >> 40 & (SCRIPT_CONTENT_WORDS - 1);
	__u64 size = (packed >> 48 & 0xff) * 8;
	__u64 hash, text, nul, keep = ~0ull;

	walk->script_last[0] = code;
	walk->script_last[1] = 0;
	LOOKUP_OPAQUE(size);
	if (size > 8 * SCRIPT_CONTENT_WORDS ||
	    env_read_stack(env, words, (__u32)size, (code & ~7ull) + (__u64)(__s64)(__s16)packed))
		return 0;
	text = words[last] + (__u64)(__s64)(__s16)(packed >> 16);
	hash = (words[0] ^ words[other] >> 29 ^ words[other] << 35) * 0x9e3779b97f4a7c15ull;
	if (walk_is_user(text) && !env_read_stack(env, words, 8 * SCRIPT_TEXT_WORDS, text)) {
#pragma GCC unroll 6
		for (__u32 i = 0; i < SCRIPT_TEXT_WORDS; i++) {
			nul = (words[i] - ones) & ~words[i] & ends;
			nul = (nul & -nul) >> 7;
			hash = (hash ^ hash >> 32 ^ (words[i] & keep & (nul - 1))) *
			       0xc2b2ae3d27d4eb4full;
			keep = nul ? 0 : keep;
		}
	}
	walk->script_last[1] = hash;
	return 0;
}

#ifdef __bpf__
WALK_GLOBAL int script_read_content_once(struct fpl_walk *walk, __u64 code, __u64 packed)
{
	return walk ? script_read_content(0, walk, code, packed) : 0;
}
#endif

WALK_INLINE __u64 script_content(struct env *env, struct fpl_walk *walk,
				 const struct fpl_script_rule *rule, __u64 code)
{
	__u64 packed = *(const __u64 *)(code & FPL_SCRIPT_IS_PLACE ? &rule->records.content
								   : &rule->content);

	if (!(packed >> 48 & 0xff))
		return 0;
	if (walk->script_last[0] != code) {
#ifdef __bpf__
		script_read_content_once(walk, code, packed);
#else
		script_read_content(env, walk, code, packed);
#endif
	}
	return walk->script_last[1];
}

/* The frame behind @frame, in *ret. Returns 0, or 1 where it cannot be read. */
WALK_INLINE int script_next(struct env *env, struct fpl_walk *walk,
			    const struct fpl_script_rule *rule, __u64 frame, __u64 *ret)
{
	if (rule->next.nr)
		return script_load(env, walk, &rule->next, frame, ret);
	*ret = frame + (__u64)(__s64)rule->next.off[0];
	return 0;
}

/* Append a script frame that runs @code, an address, at @place. */
WALK_INLINE void script_add_frame(struct env *env, struct fpl_walk *walk,
				  const struct fpl_script_rule *rule, __u64 code, __u64 place)
{
	__u64 content = script_content(env, walk, rule, code);

	if (place > FPL_SCRIPT_NO_PLACE)
		place = FPL_SCRIPT_NO_PLACE;
	script_add(walk, (code & FPL_SCRIPT_CODE_MASK) | (content >> 48 << 48));
	script_add(walk, place | (content >> 16 << 32));
	walk->script_chain_nr++;
}

/* Is there no room for one more script frame? */
WALK_INLINE int script_is_full(const struct fpl_walk *walk)
{
	return walk->nr_script_frames + walk->script_chain_nr >= FPL_SCRIPT_FRAMES_MAX ||
	       walk->nr_script > FPL_SCRIPT_WORDS_MAX - 2;
}

/* Context of the loops over the script frames of a native frame, and over those between two. */
struct script_chain {
	struct fpl_walk *walk;
	struct env *env;
	const struct fpl_script_rule *rule;
};
