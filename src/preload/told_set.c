/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/told_set.h"

#include <stddef.h>

static uint8_t *cell_of(struct told_set *set, uintptr_t addr)
{
	return &set->cells[told_hash(addr) >> (64 - TOLD_CELLS_LOG2)];
}

/*
 * Slot number @idx of those in which @addr may be, TOLD_WINDOW in each level. The cell's bits are
 * the highest of the hash.
 */
static struct told_slot *slot_of(struct told_set *set, uintptr_t addr, uint32_t idx)
{
	uint32_t level = idx / TOLD_WINDOW;
	uint32_t log2 = TOLD_LEVEL0_LOG2 + TOLD_GROWTH_LOG2 * level;
	uint64_t first = told_hash(addr) >> (64 - log2);

	return &set->slots[TOLD_LEVEL_FIRST(level) +
			   ((first + idx % TOLD_WINDOW) & ((1u << log2) - 1))];
}

/* An address is in slot number @idx: who looks for one has to look as far. */
static void reach(struct told_set *set, uint32_t idx)
{
	uint32_t want = idx / TOLD_WINDOW + 1;
	uint32_t have = __atomic_load_n(&set->nr_levels, __ATOMIC_RELAXED);

	while (have < want && !__atomic_compare_exchange_n(&set->nr_levels, &have, want, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Change the cell by @by; one that is full stays so, and one that becomes it. */
static void count(uint8_t *cell, int by)
{
	uint8_t have = __atomic_load_n(cell, __ATOMIC_RELAXED);

	while (have != TOLD_CELL_FULL &&
	       !__atomic_compare_exchange_n(cell, &have, (uint8_t)(have + by), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void told_set_mark(struct told_set *set, uintptr_t addr)
{
	count(cell_of(set, addr), 1);
}

void told_set_add(struct told_set *set, uintptr_t addr, uint64_t size, uint64_t weight)
{
	for (uint32_t i = 0; i < TOLD_WINDOW * TOLD_LEVELS; i++) {
		struct told_slot *slot = slot_of(set, addr, i);
		uintptr_t free_slot = 0;

		if (!__atomic_compare_exchange_n(&slot->addr, &free_slot, addr, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		slot->size = size;
		slot->weight = weight;
		reach(set, i);
		told_set_mark(set, addr);
		return;
	}
	__atomic_store_n(cell_of(set, addr), TOLD_CELL_FULL, __ATOMIC_RELAXED);
}

enum told_answer told_set_take(struct told_set *set, uintptr_t addr, struct told_slot *ret)
{
	uint32_t nr_levels = __atomic_load_n(&set->nr_levels, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < TOLD_WINDOW * nr_levels; i++) {
		struct told_slot *slot = slot_of(set, addr, i);

		if (__atomic_load_n(&slot->addr, __ATOMIC_RELAXED) != addr)
			continue;
		*ret = *slot;
		__atomic_store_n(&slot->addr, 0, __ATOMIC_RELEASE);
		count(cell_of(set, addr), -1);
		return TOLD_TAKEN;
	}
	return __atomic_load_n(cell_of(set, addr), __ATOMIC_RELAXED) == TOLD_CELL_FULL
		       ? TOLD_UNKNOWN
		       : TOLD_NOT;
}
