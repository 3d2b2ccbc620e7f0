/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Islands: pieces of memory that a snapshot holds besides the stack at sp.
 *
 * Pieces of the hole in a copied stack: if a second large frame lies in the hole, so does the end
 * of the first one. Functions with such frames mostly use a frame pointer (they realign the stack,
 * or do not know its size before). Their callees save it, or leave it in its register. So an island
 * is copied wherever a register or a copied word points to, and wherever a word of an island does.
 *
 * Pieces of a goroutine's stack, while its thread is on the system stack, and the structures of Go
 * that lead there (walk_goroutine.h).
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/go_thread.h"
#include "bpf/lookup.h"
#include "bpf/maps.h"
#include "bpf/walk_read.h"

/*
 * An island reaches this far below a frame pointer, where saved registers are; above it are the
 * caller's arguments.
 */
#define ISLAND_BELOW 64u
#define ISLAND_ABOVE 192u
#define ISLAND_WORDS 8u

/* Add the island that holds the byte at @at to the copy, if there is room. */
static __always_inline void island_add(struct fpl_snapshot *to, __u64 at)
{
	__u32 nr = to->hole.nr_islands;

	at &= ~(__u64)(FPL_ISLAND_SIZE - 1);
	for (__u32 i = 0; i < FPL_ISLANDS_MAX; i++) {
		if (to->islands[i] == at)
			return;
	}
	if (nr >= FPL_ISLANDS_MAX)
		return;
	to->islands[nr] = at;
	to->hole.nr_islands = nr + 1;
}

/* Add the islands of the first and the last byte of [@first, @last]; @in_hole: only if they lie in
 * the hole. Returns 0. */
WALK_GLOBAL int islands_take(struct fpl_snapshot *to, __u64 first, __u64 last, __u32 in_hole)
{
	if (!to)
		return 0;
	if (!in_hole || first - to->hole_addr < to->hole.size)
		island_add(to, first);
	if (!in_hole || last - to->hole_addr < to->hole.size)
		island_add(to, last);
	return 0;
}

static __always_inline void island_point(struct fpl_snapshot *to, __u64 word)
{
	if (word - to->hole_addr < to->hole.size)
		islands_take(to, word - ISLAND_BELOW, word + ISLAND_ABOVE, 1);
}

struct go_search {
	struct fpl_snapshot *to;
	__u64 m, g0;
	__u64 g;      /* the goroutine; 0: none was found */
	__u64 sp, hi; /* of its stack */
};

/* Add 512 bytes of a goroutine's stack, by turns upwards from sp and downwards from its end. */
static long go_stack_island(__u32 idx, void *arg)
{
	struct go_search *search = arg;
	__u64 off = (idx >> 1) * FPL_ISLAND_SIZE;

	island_add(search->to, idx & 1 ? search->hi - 1 - off : search->sp + off);
	return search->hi - search->sp <= 2 * off;
}

/* Is the @idx-th word of m a goroutine that is off its stack? */
static long go_look(__u32 idx, void *arg)
{
	struct go_search *search = arg;
	struct go_g *g = &search->to->g;
	__u64 at;

	if (bpf_probe_read_user(&at, sizeof(at), (const void *)(search->m + idx * 8)) || !at ||
	    at == search->g0 || bpf_probe_read_user(g, sizeof(*g), (const void *)at) ||
	    g->m != search->m || g->sp <= g->lo || g->sp >= g->hi)
		return 0;
	search->g = at;
	search->sp = g->sp;
	search->hi = g->hi;
	return 1;
}

/* If the current thread runs on the system stack of Go's run time, find the goroutine it works for.
 * Returns 0. */
WALK_GLOBAL int islands_find_go(struct fpl_snapshot *to)
{
	struct go_search search = { .to = to };
	__u64 at;

	if (!to)
		return 0;
	at = go_running(&to->g, &search.g0);
	if (!at || at != search.g0)
		return 0;
	search.m = to->g.m;
	islands_take(to, at, at + GO_G_SIZE - 1, 0);
	islands_take(to, search.m, search.m + GO_M_SIZE - 1, 0);
	bpf_loop(GO_M_SIZE / 8, go_look, &search, 0);
	if (!search.g)
		return 0;
	islands_take(to, search.g, search.g + GO_G_SIZE - 1, 0);
	bpf_loop(FPL_ISLANDS_MAX, go_stack_island, &search, 0);
	return 0;
}

struct island_search {
	struct fpl_snapshot *to;
	__u64 off; /* offset in to->bytes: of the bytes searched, later of the copies */
};

/* Look at the @idx-th eight words. */
static long island_look(__u32 idx, void *arg)
{
	struct island_search *search = arg;
	struct fpl_snapshot *to = search->to;
	__u64 off = search->off + (__u64)idx * 8 * ISLAND_WORDS;
	const __u64 *words;

	LOOKUP_OPAQUE(off);
	if (off > sizeof(to->bytes) - 8 * ISLAND_WORDS)
		return 1;
	words = (const __u64 *)(to->bytes + off);
	for (__u32 i = 0; i < ISLAND_WORDS; i++)
		island_point(to, words[i]);
	return 0;
}

/* Find the islands that registers and the stack below the hole point to. Returns 0. */
WALK_GLOBAL int islands_find(struct fpl_snapshot *to, const struct fpl_regs *regs)
{
	struct island_search search = { .to = to };

	if (!to || !regs)
		return 0;
	for (__u32 i = 0; i < FPL_NR_REGS; i++)
		island_point(to, regs->reg[i]);
	search.off = to->stack_off;
	bpf_loop(to->hole.off / (8 * ISLAND_WORDS), island_look, &search, 0);
	return 0;
}

#define ISLAND_TURNS (FPL_ISLAND_SIZE / 8 / ISLAND_WORDS)

/* Look at the next eight words of an island; before the first ones, copy it. */
static long island_copy(__u32 idx, void *arg)
{
	struct island_search *search = arg;
	struct fpl_snapshot *to = search->to;
	struct fpl_island *island;
	__u64 turn = idx % ISLAND_TURNS, at = idx / ISLAND_TURNS;
	__u64 off = search->off + at * sizeof(*island);
	const __u64 *words;

	LOOKUP_OPAQUE(off);
	if (at >= FPL_ISLANDS_MAX || at >= to->hole.nr_islands ||
	    off > sizeof(to->bytes) - sizeof(*island))
		return 1;
	LOOKUP_OPAQUE(at);
	island = (struct fpl_island *)(to->bytes + off);
	if (!turn) {
		island->addr = to->islands[at & (FPL_ISLANDS_MAX - 1)];
		if (bpf_probe_read_user(island->bytes, sizeof(island->bytes),
					(const void *)island->addr))
			island->addr = 0;
	}
	LOOKUP_OPAQUE(turn);
	words = (const __u64 *)island->bytes + (turn & (ISLAND_TURNS - 1)) * ISLAND_WORDS;
	for (__u32 i = 0; i < ISLAND_WORDS; i++)
		island_point(to, words[i]);
	return 0;
}

/*
 * Copy the islands to to->bytes + @off, and those that they point to. Returns the number of bytes
 * copied.
 */
WALK_GLOBAL int islands_copy(struct fpl_snapshot *to, __u32 off)
{
	struct island_search search = { .to = to, .off = off };

	if (!to)
		return 0;
	bpf_loop(FPL_ISLANDS_MAX * ISLAND_TURNS, island_copy, &search, 0);
	return (int)(to->hole.nr_islands * sizeof(struct fpl_island));
}
