/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/address_set.h"

#include <stdlib.h>

enum { SLOTS_LEAST = 1024 };

void address_set_fini(struct address_set *set)
{
	free(set->slots);
	*set = (struct address_set){ .nr = 0 };
}

/* The slot of @address, or the free slot for it. There is always a free slot. */
static uint64_t *slot_of(uint64_t *slots, size_t nr_slots, uint64_t address)
{
	size_t at = (size_t)(address * 0x9e3779b97f4a7c15ull >> 20) & (nr_slots - 1);

	while (slots[at] && slots[at] != address)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static bool grow(struct address_set *set)
{
	size_t nr_slots = set->nr_slots ? 2 * set->nr_slots : SLOTS_LEAST;
	uint64_t *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < set->nr_slots; i++)
		if (set->slots[i])
			*slot_of(slots, nr_slots, set->slots[i]) = set->slots[i];
	free(set->slots);
	set->slots = slots;
	set->nr_slots = nr_slots;
	return true;
}

bool address_set_add(struct address_set *set, uint64_t address)
{
	if (2 * (set->nr + 1) > set->nr_slots && (set->nr >= ADDRESS_SET_MAX || !grow(set)))
		return false;

	uint64_t *slot = slot_of(set->slots, set->nr_slots, address);

	if (*slot)
		return false;
	*slot = address;
	set->nr++;
	return true;
}
