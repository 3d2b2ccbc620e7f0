/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts that the steps of a walk (bpf/walk.h) are made of: the stack through a window, the
 * mapping that holds an address, the frame at a pc. They reach the world through the env_*
 * functions described there.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/walk_state.h"

#define WALK_INLINE static inline __attribute__((__always_inline__))

/* Context of the loop bodies: pointers, which scratch memory cannot hold. */
struct walker {
	struct fpl_walk *walk;
	__u64 *frames; /* [FPL_USER_FRAMES_MAX] */
	struct env *env;
	struct fpl_memory *memory; /* of this CPU; NULL: none */
};

/*
 * A global function of the kernel's program. The verifier checks it once and by itself, not again
 * in each calling state, and goes on behind a call with one state instead of one per path. It knows
 * nothing about the arguments, not even that pointers are not NULL; they point to memory of known
 * size, and every argument must be used.
 */
#ifdef __bpf__
#define WALK_GLOBAL __attribute__((__noinline__))
#else
#define WALK_GLOBAL static __attribute__((__noinline__))
#endif

/*
 * Define @name(walker, addr), which is @body(env, walk, addr), as a global function; @none is its
 * result without a walk. The kernel's env is its maps.
 */
#ifdef __bpf__
#define WALK_ONCE(name, body, none)                                    \
	WALK_GLOBAL int name##_once(struct fpl_walk *walk, __u64 addr) \
	{                                                              \
		return walk ? body(0, walk, addr) : (none);            \
	}                                                              \
	WALK_INLINE int name(struct walker *walker, __u64 addr)        \
	{                                                              \
		return name##_once(walker->walk, addr);                \
	}
#else
#define WALK_ONCE(name, body, none)                             \
	WALK_GLOBAL int name(struct walker *walker, __u64 addr) \
	{                                                       \
		return body(walker->env, walker->walk, addr);   \
	}
#endif

/* A register's bit in a mask. */
#define WALK_BIT(reg) (1u << ((reg)&15))

/*
 * Move the window to @addr. It starts a red zone lower, because the words wanted next may be a
 * little below; at memory that is not resident it ends or begins at the page boundary. An address
 * below the window does not move it. Returns 0.
 */
WALK_INLINE int walk_window(struct env *env, struct fpl_walk *walk, __u64 addr)
{
	__u64 start = (addr & ~7ull) - ARCH_RED_ZONE;
	__u32 to_page_end = FPL_STACK_PAGE - (__u32)(start & (FPL_STACK_PAGE - 1));
	__u32 size = FPL_WINDOW_SIZE;

	if (walk->window_size && addr < walk->window_addr + walk->window_size)
		return 0;
	if (env_read_stack(env, walk->window, FPL_WINDOW_SIZE, start)) {
		size = to_page_end & (FPL_WINDOW_SIZE - 1);
		if (addr - start >= size || env_read_stack(env, walk->window, size, start)) {
			size = FPL_WINDOW_SIZE;
			start = addr & ~(__u64)(FPL_STACK_PAGE - 1);
			if (env_read_stack(env, walk->window, FPL_WINDOW_SIZE, start))
				size = 0;
		}
	}
	walk->window_addr = start;
	walk->window_size = size;
	walk->window_near = size < FPL_NEAR_BYTES ? 0 : size - FPL_NEAR_BYTES + 1;
	return 0;
}
WALK_ONCE(walk_move, walk_window, 0)

/* Read a word outside the window, which follows if the word is above it, into walk->word. */
WALK_INLINE int walk_word(struct env *env, struct fpl_walk *walk, __u64 addr)
{
	struct walker walker = { .walk = walk, .env = env };

	walk_move(&walker, addr);

	__u64 off = addr - walk->window_addr;

	if (off < walk->window_size && !(off & 7)) {
		walk->word = walk->window[(off >> 3) & (FPL_WINDOW_SIZE / 8 - 1)];
		return 0;
	}
	return env_read_stack(env, &walk->word, 8, addr);
}
WALK_ONCE(walk_read_far, walk_word, 1)

WALK_INLINE int walk_read(struct walker *walker, __u64 addr, __u64 *ret)
{
	struct fpl_walk *walk = walker->walk;
	__u64 off = addr - walk->window_addr;

	if (off < walk->window_size && !(off & 7)) {
		*ret = walk->window[(off >> 3) & (FPL_WINDOW_SIZE / 8 - 1)];
		return 0;
	}
	if (walk_read_far(walker, addr))
		return 1;
	*ret = walk->word;
	return 0;
}

/* Make walk->last the mapping that holds @addr. Returns 0 if no mapping does. */
WALK_INLINE int walk_search(struct env *env, struct fpl_walk *walk, __u64 addr)
{
	__u32 lo = walk->first, hi = lo + walk->nr;
	const struct fpl_mapping *mapping;

	/* Invariant: mappings before lo start at or below addr, those from hi on above it. 17:
	 * a mapset has at most 2^16 mappings. */
	for (int i = 0; i < 17 && lo < hi; i++) {
		__u32 mid = lo + (hi - lo) / 2;

		mapping = env_mapping(env, mid);
		if (!mapping)
			return 0;
		if (mapping->start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == walk->first)
		return 0;
	mapping = env_mapping(env, lo - 1);
	if (!mapping || addr >= mapping->end)
		return 0;
	walk->last = *mapping;
	return 1;
}
WALK_ONCE(walk_find_mapping, walk_search, 0)

WALK_INLINE int walk_mapping(struct walker *walker, __u64 addr)
{
	struct fpl_walk *walk = walker->walk;

	return (walk->last.start <= addr && addr < walk->last.end) ||
	       walk_find_mapping(walker, addr);
}

WALK_INLINE int walk_is_user(__u64 addr)
{
	return addr >= ARCH_USER_START && addr < ARCH_USER_END;
}

/* Is an address a return address: in executable memory, behind a call? */
enum walk_ra {
	WALK_RA_NO,
	WALK_RA_YES,
	WALK_RA_UNREAD, /* in executable memory whose page is not present: undecided */
};

/* Classify @ra. The 8 bytes before it are left in walk->call; 0: not read. */
WALK_INLINE int walk_follows_call(struct env *env, struct fpl_walk *walk, __u64 ra)
{
	struct walker walker = { .walk = walk, .env = env };

	if (!walk_is_user(ra) || !walk_mapping(&walker, ra - 1))
		return WALK_RA_NO;
	if (env_read_code(env, &walk->call, sizeof(walk->call), ra - sizeof(walk->call))) {
		walk->call = 0;
		return WALK_RA_UNREAD;
	}
	if (arch_is_call(walk->call))
		return WALK_RA_YES;
	/* Signal handlers return to the restorer that the program has registered. */
	return !env_read_code(env, walk->code, 16, ra) &&
			       arch_is_restorer(walk->code[0], walk->code[1])
		       ? WALK_RA_YES
		       : WALK_RA_NO;
}
WALK_ONCE(walk_is_ra, walk_follows_call, WALK_RA_NO)

/* The frame at @pc, which lies in @mapping or, if that is NULL, in no known mapping. */
WALK_INLINE __u64 walk_frame(const struct fpl_mapping *mapping, __u64 pc, int exact, __u64 origin)
{
	__u64 frame = origin << FPL_FRAME_ORIGIN_SHIFT;
	__u64 vaddr = mapping ? pc - mapping->bias : 0;

	if (exact)
		frame |= FPL_FRAME_EXACT;
	if (!mapping || !mapping->object || vaddr > FPL_FRAME_VADDR_MASK)
		return frame | FPL_FRAME_RAW | (pc & FPL_FRAME_ADDR_MASK) |
		       (mapping && !mapping->object && mapping->bias ? FPL_FRAME_JIT : 0);
	return frame | (__u64)(mapping->object & FPL_FRAME_OBJECT_MAX) << FPL_FRAME_OBJECT_SHIFT |
	       vaddr;
}

WALK_INLINE void walk_add(struct walker *walker, __u64 frame)
{
	struct fpl_walk *walk = walker->walk;
	__u32 idx = walk->nr_frames;

	walker->frames[idx & (FPL_DEPTH_MAX - 1)] = frame;
	walk->nr_frames = idx + 1;
}

/* Go on in the caller, whose registers are in place. */
WALK_INLINE int walk_to(struct fpl_walk *walk, __u64 pc, int exact, __u8 origin)
{
	walk->pc = pc;
	walk->exact = exact ? 1 : 0;
	walk->origin = origin;
	return FPL_STOP_NONE;
}
