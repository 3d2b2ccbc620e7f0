/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/interval_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sorted.h"

#define INTERVALS_MAX (1u << 24)

void interval_map_fini(struct interval_map *map)
{
	free(map->list);
	*map = (struct interval_map){ .nr = 0 };
}

static int push(struct interval_map *map, const struct interval *interval)
{
	if (map->nr == map->room) {
		size_t room = map->room ? map->room * 2 : 64;
		struct interval *grown;

		if (map->nr >= 2u * INTERVALS_MAX)
			return -E2BIG;
		grown = reallocarray(map->list, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		map->list = grown;
		map->room = room;
	}
	map->list[map->nr++] = *interval;
	return 0;
}

int interval_map_add(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t nr = (uint32_t)map->nr;
	const struct interval interval = { .start = start,
					   .end = end,
					   .value = value,
					   .order = map->first_wins ? UINT32_MAX - nr : nr };

	return map->nr >= INTERVALS_MAX ? -E2BIG : push(map, &interval);
}

static int compare(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void sort(struct interval_map *map)
{
	for (size_t i = 1; i < map->nr; i++) {
		if (compare(&map->list[i - 1], &map->list[i]) > 0) {
			qsort(map->list, map->nr, sizeof(*map->list), compare);
			return;
		}
	}
}

/* Adds [start, end) of @value; what touches a piece of the same value is one with it. */
static int put(struct interval_map *flat, uint64_t start, uint64_t end, uint32_t value)
{
	const struct interval piece = { .start = start, .end = end, .value = value };
	struct interval *last = flat->nr ? &flat->list[flat->nr - 1] : NULL;

	if (start >= end)
		return 0;
	if (last && last->end == start && last->value == value) {
		last->end = end;
		return 0;
	}
	return push(flat, &piece);
}

/* Closes what of @open, [*nr] and the innermost last, ends up to @end. Returns where it came to. */
static int close_until(struct interval_map *flat, const struct interval **open, size_t *nr,
		       uint64_t end, uint64_t *at)
{
	while (*nr && open[*nr - 1]->end <= end) {
		const struct interval *top = open[--*nr];
		int code = put(flat, *at, top->end, top->value);

		if (code)
			return code;
		if (top->end > *at)
			*at = top->end;
	}
	return 0;
}

int interval_map_settle(struct interval_map *map)
{
	AUTO_FREE const struct interval **open = calloc(map->nr + 1, sizeof(*open));
	struct interval_map flat = { .nr = 0 };
	size_t nr_open = 0;
	uint64_t at = 0;
	int code = 0;

	if (!open)
		return -ENOMEM;
	sort(map);
	for (size_t i = 0; i < map->nr && !code; i++) {
		const struct interval *next = &map->list[i];

		code = close_until(&flat, open, &nr_open, next->start, &at);
		if (!code && nr_open)
			code = put(&flat, at, next->start, open[nr_open - 1]->value);
		at = next->start;
		open[nr_open++] = next;
	}
	if (!code)
		code = close_until(&flat, open, &nr_open, UINT64_MAX, &at);
	interval_map_fini(map);
	*map = flat;
	return code;
}

bool interval_map_find(const struct interval_map *map, uint64_t addr, uint32_t *ret)
{
	size_t nr = SORTED_UP_TO(map->list, start, map->nr, addr);

	if (!nr || addr >= map->list[nr - 1].end)
		return false;
	*ret = map->list[nr - 1].value;
	return true;
}
