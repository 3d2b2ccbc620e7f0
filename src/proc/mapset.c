/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mapset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

struct mapset *mapset_create(void)
{
	struct mapset *set = calloc(1, sizeof(*set));

	if (set)
		set->refs = 1;
	return set;
}

struct mapset *mapset_get(struct mapset *set)
{
	set->refs++;
	return set;
}

void mapset_put(struct mapset *set)
{
	if (!set || --set->refs)
		return;
	free(set->mappings);
	free(set);
}

/* First index whose mapping ends above @addr; nr if there is no such mapping. */
static uint32_t lower_bound(const struct mapset *set, uint64_t addr)
{
	return (uint32_t)SORTED_UP_TO(set->mappings, end, set->nr, addr);
}

/* Make *@set private, with room for two more mappings: an insertion may also split one. No VECTOR:
 * most processes have some 20 mappings, for which its first 64 would be 1 KiB too much. */
static int make_writable(struct mapset **set)
{
	struct mapset *old = *set;
	uint32_t need = old->nr + 2;

	if (old->refs == 1 && old->capacity >= need)
		return 0;

	uint32_t capacity = need + need / 2;
	struct fpl_mapping *mappings;

	if (old->refs == 1) {
		mappings = realloc(old->mappings, capacity * sizeof(*mappings));
		if (!mappings)
			return -ENOMEM;
		old->mappings = mappings;
		old->capacity = capacity;
		return 0;
	}

	struct mapset *copy = mapset_create();

	mappings = malloc(capacity * sizeof(*mappings));
	if (!copy || !mappings) {
		free(mappings);
		mapset_put(copy);
		return -ENOMEM;
	}
	if (old->nr)
		memcpy(mappings, old->mappings, old->nr * sizeof(*mappings));
	copy->mappings = mappings;
	copy->nr = old->nr;
	copy->capacity = capacity;
	mapset_put(old);
	*set = copy;
	return 0;
}

static bool continues(const struct fpl_mapping *low, const struct fpl_mapping *high)
{
	return low->end == high->start && low->object == high->object && low->slot == high->slot &&
	       low->flags == high->flags && low->bias == high->bias;
}

/* Removes [first, first + count) of the array. */
static void remove_at(struct mapset *set, uint32_t first, uint32_t count)
{
	memmove(&set->mappings[first], &set->mappings[first + count],
		(set->nr - first - count) * sizeof(set->mappings[0]));
	set->nr -= count;
}

static void insert_at(struct mapset *set, uint32_t idx, const struct fpl_mapping *map)
{
	memmove(&set->mappings[idx + 1], &set->mappings[idx],
		(set->nr - idx) * sizeof(set->mappings[0]));
	set->mappings[idx] = *map;
	set->nr++;
}

/* Take [start, end) out of the set; returns the index for a mapping of it. */
static uint32_t cut_out(struct mapset *set, uint64_t start, uint64_t end)
{
	uint32_t idx = lower_bound(set, start);

	if (idx < set->nr && set->mappings[idx].start < start) {
		struct fpl_mapping tail = set->mappings[idx];

		set->mappings[idx].end = start;
		idx++;
		if (tail.end > end) {
			tail.start = end;
			insert_at(set, idx, &tail);
			return idx;
		}
	}

	uint32_t last = idx;

	while (last < set->nr && set->mappings[last].end <= end)
		last++;
	remove_at(set, idx, last - idx);
	if (idx < set->nr && set->mappings[idx].start < end)
		set->mappings[idx].start = end;
	return idx;
}

int mapset_add(struct mapset **set, const struct fpl_mapping *map)
{
	if (map->start >= map->end)
		return -EINVAL;
	if ((*set)->nr + 2 > MAPSET_MAX)
		return -E2BIG;

	int code = make_writable(set);

	if (code)
		return code;

	struct mapset *own = *set;
	uint32_t idx = cut_out(own, map->start, map->end);

	insert_at(own, idx, map);
	if (idx + 1 < own->nr && continues(&own->mappings[idx], &own->mappings[idx + 1])) {
		own->mappings[idx].end = own->mappings[idx + 1].end;
		remove_at(own, idx + 1, 1);
	}
	if (idx > 0 && continues(&own->mappings[idx - 1], &own->mappings[idx])) {
		own->mappings[idx - 1].end = own->mappings[idx].end;
		remove_at(own, idx, 1);
	}
	return 0;
}

bool mapset_has_other(const struct mapset *set, const struct fpl_mapping *map)
{
	for (uint32_t i = lower_bound(set, map->start); i < set->nr; i++) {
		const struct fpl_mapping *old = &set->mappings[i];

		if (old->start >= map->end)
			break;
		if (old->object != map->object)
			return true;
	}
	return false;
}

const struct fpl_mapping *mapset_find(const struct mapset *set, uint64_t addr)
{
	uint32_t idx = lower_bound(set, addr);

	if (idx < set->nr && set->mappings[idx].start <= addr)
		return &set->mappings[idx];
	return NULL;
}

const struct fpl_mapping *mapset_find_below(const struct mapset *set, uint64_t addr)
{
	uint32_t idx = lower_bound(set, addr);

	if (idx < set->nr && set->mappings[idx].start <= addr)
		return &set->mappings[idx];
	return idx ? &set->mappings[idx - 1] : NULL;
}
