/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled allocations of the process that were not freed. It takes no lock, so it is in order
 * at any moment at which a thread forks. An address is added before who allocated it knows it, and
 * taken out before it is freed: so no two threads work on one address at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TOLD_CELLS_LOG2 14u
#define TOLD_WINDOW	16u /* slots from the first one of an address, in which it may be */
/*
 * An address that finds no room in one level goes to the next one, which is larger. A process with
 * few samples so touches few pages: a page that is touched first costs more than telling a sample.
 */
#define TOLD_LEVELS		4u
#define TOLD_LEVEL0_LOG2	8u
#define TOLD_GROWTH_LOG2	3u
#define TOLD_LEVEL_FIRST(level) /* its first slot */                                   \
	((((1u << TOLD_GROWTH_LOG2 * (level)) - 1u) / ((1u << TOLD_GROWTH_LOG2) - 1u)) \
	 << TOLD_LEVEL0_LOG2)
#define TOLD_SLOTS TOLD_LEVEL_FIRST(TOLD_LEVELS) /* 149,760 */
/* A cell that stays so: not all of its addresses are in a slot. */
#define TOLD_CELL_FULL 255u

struct told_slot {
	uintptr_t addr; /* 0: free */
	uint64_t size, weight;
};

/* All 0: empty. The slots are as many pages as are touched. */
struct told_set {
	uint8_t cells[1u << TOLD_CELLS_LOG2]; /* addresses that lie there */
	uint32_t nr_levels;		      /* that have had an address */
	struct told_slot slots[TOLD_SLOTS];
};

/* The library's. Hidden: reached without the table of what other libraries may define. */
extern __attribute__((__visibility__("hidden"))) struct told_set told;

static inline uint64_t told_hash(uintptr_t addr)
{
	return (addr >> 4) * 0x9e3779b97f4a7c15;
}

/* May it be in the set? The question of every free: most cells are 0. */
static inline bool told_may_have(const struct told_set *set, uintptr_t addr)
{
	return __atomic_load_n(&set->cells[told_hash(addr) >> (64 - TOLD_CELLS_LOG2)],
			       __ATOMIC_RELAXED);
}

/* Add @addr, which is not 0. Where there is no room its cell is full from then on. */
void told_set_add(struct told_set *set, uintptr_t addr, uint64_t size, uint64_t weight);

/* Let told_may_have() say so of @addr from now on; no slot has it. */
void told_set_mark(struct told_set *set, uintptr_t addr);

enum told_answer {
	TOLD_NOT,
	TOLD_TAKEN,   /* it was there, and is no more: *ret */
	TOLD_UNKNOWN, /* it may be one that found no room */
};

enum told_answer told_set_take(struct told_set *set, uintptr_t addr, struct told_slot *ret);
