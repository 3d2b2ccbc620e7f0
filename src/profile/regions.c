/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/regions.h"

#include <errno.h>
#include <string.h>

void regions_init(struct regions *regions, struct fpl_region *entries)
{
	*regions = (struct regions){ .entries = entries };
}

/* The slot of a region that says the same as @entry, which has no id; 0: there is no such region.
 */
static uint32_t find_same(const struct regions *regions, const struct fpl_region *entry)
{
	struct fpl_region same = *entry;

	for (uint32_t slot = 1; slot < FPL_REGIONS_MAX; slot++) {
		same.id = regions->entries[slot].id;
		if (same.id && !memcmp(&regions->entries[slot], &same, sizeof(same)))
			return slot;
	}
	return 0;
}

int regions_add(struct regions *regions, const struct fpl_region *region, uint64_t *ret)
{
	struct fpl_region entry = *region;
	uint32_t slot, id;

	if (!fpl_region_holds(region))
		return -EINVAL;
	entry.id = 0;
	if (regions->has_pcs && entry.kind == FPL_REGION_NMETHOD) {
		entry.has_methods = false;
		entry.compile_id_off = 0;
	}
	slot = find_same(regions, &entry);
	if (slot) {
		regions->nr_users[slot]++;
		*ret = fpl_region_ref(regions->entries[slot].id, slot);
		return 0;
	}
	slot = regions->last;
	for (uint32_t i = 1; i < FPL_REGIONS_MAX; i++) {
		slot = slot % (FPL_REGIONS_MAX - 1) + 1;
		if (!regions->entries[slot].id)
			break;
	}
	if (!slot || regions->entries[slot].id || regions->id == UINT32_MAX) {
		regions->nr_refused++;
		return -ENOSPC;
	}
	id = ++regions->id;
	regions->entries[slot] = entry;
	regions->nr_users[slot] = 1;
	/* a walk that sees the id sees the rest */
	__atomic_store_n(&regions->entries[slot].id, id, __ATOMIC_RELEASE);
	regions->last = slot;
	*ret = fpl_region_ref(id, slot);
	return 0;
}

int regions_sljit(struct regions *regions, uint64_t *ret)
{
	const struct fpl_region all = { .kind = FPL_REGION_SLJIT, .end = FPL_REGION_END_MAX };
	int code = regions->sljit_ref ? 0 : regions_add(regions, &all, &regions->sljit_ref);

	if (!code)
		*ret = regions->sljit_ref;
	return code;
}

void regions_remove(struct regions *regions, uint64_t ref)
{
	uint32_t slot = (uint32_t)ref & (FPL_REGIONS_MAX - 1);

	if (ref == regions->sljit_ref || !slot || regions->entries[slot].id != ref >> 16 ||
	    --regions->nr_users[slot])
		return;
	__atomic_store_n(&regions->entries[slot].id, 0, __ATOMIC_RELEASE);
}
