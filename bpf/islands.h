/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Islands: pieces of the hole in a copied stack that are copied all the same. If a second large
 * frame lies in the hole, so does the end of the first one. Functions with such frames mostly use a
 * frame pointer (they realign the stack, or do not know its size before). Their callees save it, or
 * leave it in its register. So an island is copied wherever a register or a copied word points to,
 * and wherever a word of an island does.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/lookup.h"
#include "bpf/maps.h"
#include "bpf/walk_read.h"

/* Around a frame pointer: where saved registers are below it, and what the caller pushed above. */
#define ISLAND_BELOW 64u
#define ISLAND_ABOVE 192u
#define ISLAND_WORDS 8u

/* Have the bytes at @at copied, if they are in the hole and there is room. */
static __always_inline void island_add(struct fpl_snapshot *to, __u64 at)
{
	__u32 nr = to->hole.nr_islands;

	at &= ~(__u64)(FPL_ISLAND_SIZE - 1);
	if (at - to->hole_addr >= to->hole.size)
		return;
	for (__u32 i = 0; i < FPL_ISLANDS_MAX; i++) {
		if (to->islands[i] == at)
			return;
	}
	if (nr >= FPL_ISLANDS_MAX)
		return;
	to->islands[nr] = at;
	to->hole.nr_islands = nr + 1;
}

/* Have copied what is around @word, a pointer into the hole. Returns 0. */
WALK_GLOBAL int islands_take(struct fpl_snapshot *to, __u64 word)
{
	if (!to)
		return 0;
	island_add(to, word - ISLAND_BELOW);
	island_add(to, word + ISLAND_ABOVE);
	return 0;
}

static __always_inline void island_point(struct fpl_snapshot *to, __u64 word)
{
	if (word - to->hole_addr < to->hole.size)
		islands_take(to, word);
}

struct island_search {
	struct fpl_snapshot *to;
	__u64 off; /* in to->bytes, of what is searched; behind it, of the copies */
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

/* Find what registers and the stack below the hole point to. Returns 0. */
WALK_GLOBAL int islands_find(struct fpl_snapshot *to, const struct fpl_regs *regs)
{
	struct island_search search = { .to = to };

	if (!to || !regs)
		return 0;
	for (__u32 i = 0; i < FPL_ISLANDS_MAX; i++)
		to->islands[i] = 0;
	for (__u32 i = 0; i < FPL_NR_REGS; i++)
		island_point(to, regs->reg[i]);
	search.off = to->stack_off;
	bpf_loop(to->hole.off / (8 * ISLAND_WORDS), island_look, &search, 0);
	return 0;
}

static long island_copy(__u32 idx, void *arg)
{
	struct island_search *search = arg;
	struct fpl_snapshot *to = search->to;
	struct fpl_island *island;
	__u64 off = search->off + (__u64)idx * sizeof(*island);
	__u64 addr, at = idx;

	LOOKUP_OPAQUE(off);
	if (idx >= FPL_ISLANDS_MAX || idx >= to->hole.nr_islands ||
	    off > sizeof(to->bytes) - sizeof(*island))
		return 1;
	LOOKUP_OPAQUE(at);
	addr = to->islands[at & (FPL_ISLANDS_MAX - 1)];
	island = (struct fpl_island *)(to->bytes + off);
	island->addr = addr;
	if (bpf_probe_read_user(island->bytes, sizeof(island->bytes), (const void *)addr))
		island->addr = 0;
	for (__u32 i = 0; i < FPL_ISLAND_SIZE / 8; i++)
		island_point(to, ((const __u64 *)island->bytes)[i]);
	return 0;
}

/* Copy them to to->bytes + @off, and what they point to. Returns how many bytes that is. */
WALK_GLOBAL int islands_copy(struct fpl_snapshot *to, __u32 off)
{
	struct island_search search = { .to = to, .off = off };

	if (!to)
		return 0;
	bpf_loop(FPL_ISLANDS_MAX, island_copy, &search, 0);
	return (int)(to->hole.nr_islands * sizeof(struct fpl_island));
}
