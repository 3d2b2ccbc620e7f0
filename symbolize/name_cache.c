/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/name_cache.h"

#include <stdlib.h>

/* 2^64 divided by the golden ratio: neighbouring keys spread over the table. */
#define HASH_FACTOR 0x9e3779b97f4a7c15u

static struct name_cache_slot *slot_of(const struct name_cache *cache, uint64_t key)
{
	size_t idx = (size_t)((key * HASH_FACTOR) >> 32) & (cache->nr_slots - 1);

	while (cache->slots[idx].used && cache->slots[idx].key != key)
		idx = (idx + 1) & (cache->nr_slots - 1);
	return &cache->slots[idx];
}

void name_cache_fini(struct name_cache *cache)
{
	for (size_t i = 0; i < cache->nr_slots; i++)
		free(cache->slots[i].name);
	free(cache->slots);
	*cache = (struct name_cache){ .nr = 0 };
}

bool name_cache_find(const struct name_cache *cache, uint64_t key, const char **ret)
{
	const struct name_cache_slot *slot;

	if (cache->nr_slots == 0)
		return false;
	slot = slot_of(cache, key);
	if (!slot->used)
		return false;
	*ret = slot->name;
	return true;
}

static bool grow(struct name_cache *cache)
{
	struct name_cache bigger = { .nr_slots = cache->nr_slots ? cache->nr_slots * 2 : 64 };

	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < cache->nr_slots; i++) {
		if (cache->slots[i].used)
			*slot_of(&bigger, cache->slots[i].key) = cache->slots[i];
	}
	bigger.nr = cache->nr;
	free(cache->slots);
	*cache = bigger;
	return true;
}

const char *name_cache_add(struct name_cache *cache, uint64_t key, char *name)
{
	if (2 * (cache->nr + 1) > cache->nr_slots && !grow(cache)) {
		free(name);
		return NULL;
	}
	*slot_of(cache, key) = (struct name_cache_slot){ .key = key, .name = name, .used = true };
	cache->nr++;
	return name;
}
