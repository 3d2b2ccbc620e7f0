/* SPDX-License-Identifier: Apache-2.0 */
#include "view/jump_lanes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* Rows from first to last are joined: to is one of them. */
struct lane {
	uint32_t first, last, to;
};

static int by_length(const void *a, const void *b)
{
	const struct lane *left = a, *right = b;
	uint32_t left_length = left->last - left->first, right_length = right->last - right->first;

	if (left_length != right_length)
		return left_length < right_length ? -1 : 1;
	return left->to < right->to ? -1 : left->to > right->to;
}

/* The lanes of all targets to @ret [@nr]. Returns how many they are. */
static size_t list_lanes(const uint32_t *to, size_t nr, struct lane *ret)
{
	size_t nr_lanes = 0;

	for (uint32_t i = 0; i < nr; i++)
		ret[i] = (struct lane){ i, i, JUMP_NONE };
	for (uint32_t i = 0; i < nr; i++) {
		struct lane *lane;

		/* a jump to itself has no line */
		if (to[i] >= nr || to[i] == i)
			continue;
		lane = &ret[to[i]];
		lane->to = to[i];
		lane->first = lane->first < i ? lane->first : i;
		lane->last = lane->last > i ? lane->last : i;
	}
	for (size_t i = 0; i < nr; i++) {
		if (ret[i].to != JUMP_NONE)
			ret[nr_lanes++] = ret[i];
	}
	return nr_lanes;
}

/* The first column that is blank in all rows of @lane; JUMP_LANES_MAX: none is. */
static unsigned free_column(const struct jump_lanes *lanes, const struct lane *lane)
{
	uint32_t taken = 0;
	unsigned column = 0;

	for (size_t i = lane->first; i <= lane->last; i++)
		taken |= lanes->rows[i];
	while (column < JUMP_LANES_MAX && taken >> 3 * column & 7)
		column++;
	return column;
}

static void draw(struct jump_lanes *lanes, const struct lane *lane, unsigned column,
		 const uint32_t *to)
{
	for (size_t i = lane->first; i <= lane->last; i++) {
		bool meets = i == lane->to || to[i] == lane->to;
		enum jump_part part = i == lane->first	? JUMP_BEGINS
				      : i == lane->last ? JUMP_ENDS
				      : meets		? JUMP_MEETS
							: JUMP_PASSES;

		lanes->rows[i] |= (uint32_t)part << 3 * column;
	}
	lanes->rows[lane->to] |= JUMP_TARGET;
	if (column >= lanes->nr_columns)
		lanes->nr_columns = column + 1;
}

void jump_lanes_make(const uint32_t *to, size_t nr, struct jump_lanes *ret)
{
	AUTO_FREE struct lane *list = must_calloc(nr + 1, sizeof(*list));
	size_t nr_lanes = list_lanes(to, nr, list);
	uint64_t steps = 0;

	*ret = (struct jump_lanes){ .rows = must_calloc(nr + 1, sizeof(*ret->rows)), .nr = nr };
	qsort(list, nr_lanes, sizeof(*list), by_length);
	for (size_t i = 0; i < nr_lanes; i++) {
		unsigned column;

		steps += list[i].last - list[i].first;
		if (steps > JUMP_STEPS_MAX)
			break;
		column = free_column(ret, &list[i]);
		if (column < JUMP_LANES_MAX)
			draw(ret, &list[i], column, to);
	}
}

void jump_lanes_fini(struct jump_lanes *lanes)
{
	free(lanes->rows);
	*lanes = (struct jump_lanes){ .rows = NULL };
}
