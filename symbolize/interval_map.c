/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/interval_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sorted.h"

#define INTERVALS_MAX (1u << 24)

void interval_map_fini(struct interval_map *map)
{
	vector_fini(map);
	free(map->starts);
	*map = (struct interval_map){ .nr = 0 };
}

int interval_map_add(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	const struct interval interval = { .start = start, .end = end, .value = value };

	return map->nr >= INTERVALS_MAX ? -E2BIG : vector_push(map, interval);
}

static void reverse(struct interval_map *map)
{
	for (size_t i = 0; i < map->nr / 2; i++) {
		struct interval *other = &map->list[map->nr - 1 - i], first = map->list[i];

		map->list[i] = *other;
		*other = first;
	}
}

/* Moves @list [@nr] to @to in the order of the byte of start at @shift; equal ones stay in theirs.
 */
static void sort_by_byte(const struct interval *list, size_t nr, unsigned int shift,
			 struct interval *to)
{
	size_t places[256] = { 0 }, place = 0;

	for (size_t i = 0; i < nr; i++)
		places[list[i].start >> shift & 0xff]++;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t here = places[i];

		places[i] = place;
		place += here;
	}
	for (size_t i = 0; i < nr; i++)
		to[places[list[i].start >> shift & 0xff]++] = list[i];
}

/* By start, of equal ones what counts last; byte by byte, as far as they differ. */
static int sort(struct interval_map *map)
{
	uint64_t differ = 0;
	bool is_sorted = true;
	struct interval *to;

	if (map->first_wins)
		reverse(map);
	for (size_t i = 1; i < map->nr; i++) {
		differ |= map->list[i].start ^ map->list[0].start;
		is_sorted = is_sorted && map->list[i - 1].start <= map->list[i].start;
	}
	if (is_sorted)
		return 0;
	to = malloc(map->nr * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 64 && differ >> shift; shift += 8) {
		struct interval *list = map->list;

		sort_by_byte(list, map->nr, shift, to);
		map->list = to;
		to = list;
	}
	free(to);
	map->room = map->nr;
	return 0;
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
	return vector_push(flat, piece);
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

/* Gives back what was not needed, and lists starts. */
static int list_starts(struct interval_map *map)
{
	vector_trim(map);
	map->starts = malloc((map->nr + 1) * sizeof(*map->starts));
	if (!map->starts)
		return -ENOMEM;
	for (size_t i = 0; i < map->nr; i++)
		map->starts[i] = map->list[i].start;
	return 0;
}

int interval_map_settle(struct interval_map *map)
{
	AUTO_FREE const struct interval **open = malloc((map->nr + 1) * sizeof(*open));
	struct interval_map flat = { .nr = 0 };
	size_t nr_open = 0;
	uint64_t at = 0;
	int code = 0;

	if (!open)
		return -ENOMEM;
	code = sort(map);
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
	return code ? code : list_starts(map);
}

bool interval_map_find(const struct interval_map *map, uint64_t addr, uint32_t *ret)
{
	size_t nr = SORTED_NUMBERS(map->starts, map->nr, addr);

	if (!nr || addr >= map->list[nr - 1].end)
		return false;
	*ret = map->list[nr - 1].value;
	return true;
}
