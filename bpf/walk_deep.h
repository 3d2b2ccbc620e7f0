/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks deeper than max_depth (decision 0020): the walk goes on, its innermost frames stay, and a
 * ring holds the outermost frames so far. The frames in between are only counted.
 *
 * The step of a frame is not concerned: when the array is full, the next index goes back to the
 * beginning of the ring. So stacks that fit cost no more.
 */
#pragma once

#include "bpf/shared.h"
#include "bpf/walk_read.h"

/*
 * A sample runs with interrupts off, and any user can recurse. So one walk may take a millisecond
 * beyond max_depth, and all of them on a CPU 100 ms in any second: a budget saved up, and refilled
 * as time passes.
 */
#define DEEP_WALK_NS   1000000ull
#define DEEP_CREDIT_NS 10000000ull /* the most that is saved up */
#define DEEP_SHARE     12ull	   /* one part in so many of the time comes in */
#define DEEP_LOOK      64u	   /* frames between two looks at the clock, at least */
#define DEEP_FRAME_NS  1000ull	   /* charge limit per frame: about 40 times its cost */
_Static_assert(DEEP_CREDIT_NS + 1000000000ull / DEEP_SHARE <= 100000000ull, "a tenth of a second");

/* Is there time for a deep walk at @now? Refills the budget for the time since the last call. */
WALK_INLINE int deep_has_time(struct fpl_walk *walk, __u64 now)
{
	__u64 credit = walk->credit_ns + (now - walk->credited_ns) / DEEP_SHARE;

	walk->credit_ns = credit < DEEP_CREDIT_NS ? credit : DEEP_CREDIT_NS;
	walk->credited_ns = now;
	return walk->credit_ns >= DEEP_WALK_NS || !now;
}

/*
 * Charge the walk for the @nr_frames since the clock was looked at. Time beyond the limit per frame
 * was not the walk's: a hypervisor ran another guest.
 */
WALK_INLINE void deep_charge(struct fpl_walk *walk, __u32 nr_frames)
{
	__u64 now = env_now_ns(), took = now - walk->deep_looked_ns;
	__u64 most = nr_frames * DEEP_FRAME_NS;

	walk->deep_ns += took < most ? took : most;
	walk->deep_looked_ns = now;
}

/*
 * The frames are full and the stack goes on. Make room: the outermost ones give way. Returns
 * FPL_STOP_NONE, or FPL_STOP_DEPTH where the walk ends here.
 */
WALK_GLOBAL int walk_deeper(struct fpl_walk *walk)
{
	__u32 nr_root;

	if (!walk)
		return FPL_STOP_DEPTH;
	nr_root = walk->root_depth;
	if (!nr_root || nr_root >= walk->max_depth)
		return FPL_STOP_DEPTH;
	if (walk->deep == WALK_DEEP_NONE) {
		__u64 now = env_now_ns();

		if (!deep_has_time(walk, now)) {
			walk->deep = WALK_DEEP_REFUSED;
			return FPL_STOP_DEPTH;
		}
		walk->deep = WALK_DEEP_WALKED;
		walk->deep_looked_ns = now;
		walk->deep_ns = 0;
		walk->unlooked = 0;
	}
	walk->unlooked += nr_root;
	if (walk->unlooked >= DEEP_LOOK) {
		deep_charge(walk, walk->unlooked);
		walk->unlooked = 0;
		if (walk->deep_ns > DEEP_WALK_NS) {
			walk->deep = WALK_DEEP_CUT;
			return FPL_STOP_DEPTH;
		}
	}
	if (walk->elided + walk->max_depth + (walk->is_ring ? nr_root : 0) >= FPL_WALK_MAX)
		return FPL_STOP_DEPTH;
	if (walk->is_ring)
		walk->elided += nr_root;
	walk->is_ring = 1;
	walk->nr_frames = walk->max_depth - nr_root;
	return FPL_STOP_NONE;
}

/* The ring while it is put in order. */
struct deep_order {
	struct fpl_walk *walk;
	__u64 *frames;
	__u32 start; /* of the ring in frames */
	__u32 from;  /* the place in frames of the next to be taken */
	__u32 end;   /* where the ring begins anew */
};

static long deep_take(__u32 idx, void *arg)
{
	struct deep_order *order = arg;
	__u32 from = order->from;

	if (from >= order->end)
		from = order->start;
	order->walk->root[idx & (FPL_DEPTH_MAX - 1)] = order->frames[from & (FPL_DEPTH_MAX - 1)];
	order->from = from + 1;
	return 0;
}

static long deep_put(__u32 idx, void *arg)
{
	struct deep_order *order = arg;
	__u32 to = order->start + 1 + idx;

	if (to >= FPL_USER_FRAMES_MAX)
		return 1;
	order->frames[to] = order->walk->root[idx & (FPL_DEPTH_MAX - 1)];
	return 0;
}

/* Take the walk's deep time off the budget of the next. */
WALK_INLINE void deep_pay(struct fpl_walk *walk)
{
	if (walk->deep != WALK_DEEP_WALKED && walk->deep != WALK_DEEP_CUT)
		return;
	deep_charge(walk, walk->unlooked + walk->root_depth);
	walk->credit_ns = walk->deep_ns < walk->credit_ns ? walk->credit_ns - walk->deep_ns : 0;
}

/*
 * Put the kept frames in order, with FPL_FRAME_GAP in place of those left out; their number is then
 * in walk->nr_frames and that of the others in walk->elided.
 */
WALK_INLINE void walk_end(struct walker *walker)
{
	struct fpl_walk *walk = walker->walk;
	__u32 start = walk->max_depth - walk->root_depth;
	__u32 end = walk->is_ring ? walk->max_depth : walk->nr_frames;
	struct deep_order order = { .walk = walk, .frames = walker->frames, .start = start };

	deep_pay(walk);
	if (walk->is_ring)
		walk->elided += walk->nr_frames - start;
	if (!walk->elided) {
		walk->nr_frames = end;
		return;
	}
	order.from = walk->is_ring ? walk->nr_frames : start;
	order.end = end;
	if (start >= FPL_DEPTH_MAX || end < start || end > FPL_DEPTH_MAX)
		return;
	env_loop(end - start, deep_take, &order);
	env_loop(end - start, deep_put, &order);
	walker->frames[start & (FPL_DEPTH_MAX - 1)] = FPL_FRAME_GAP;
	walk->nr_frames = end + 1;
}
