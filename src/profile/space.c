/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/space.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int space_init(struct space *space, uint32_t size)
{
	*space = (struct space){ .size = size, .capacity = 16 };
	space->free = malloc(space->capacity * sizeof(*space->free));
	if (!space->free)
		return -ENOMEM;
	if (size)
		space->free[space->nr_free++] = (struct space_extent){ 0, size };
	return 0;
}

void space_fini(struct space *space)
{
	free(space->free);
	*space = (struct space){ 0 };
}

static int reserve_one(struct space *space)
{
	if (space->nr_free < space->capacity)
		return 0;

	struct space_extent *bigger =
		realloc(space->free, 2 * space->capacity * sizeof(*space->free));

	if (!bigger)
		return -ENOMEM;
	space->free = bigger;
	space->capacity *= 2;
	return 0;
}

static void insert_at(struct space *space, size_t idx, struct space_extent extent)
{
	memmove(&space->free[idx + 1], &space->free[idx], (space->nr_free - idx) * sizeof(extent));
	space->free[idx] = extent;
	space->nr_free++;
}

static void remove_at(struct space *space, size_t idx)
{
	space->nr_free--;
	memmove(&space->free[idx], &space->free[idx + 1],
		(space->nr_free - idx) * sizeof(space->free[0]));
}

static uint64_t round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

/* The first place at or after @first that the rules of space_alloc allow. */
static uint64_t place(uint64_t first, uint64_t nr, uint64_t align, uint64_t boundary)
{
	first = round_up(first, align);
	if (boundary && (nr > boundary || first / boundary != (first + nr - 1) / boundary))
		first = round_up(first, boundary);
	return first;
}

int space_alloc(struct space *space, uint32_t nr, uint32_t align, uint32_t boundary, uint32_t *ret)
{
	assert(nr && align);
	if (reserve_one(space))
		return -ENOMEM;
	for (size_t i = 0; i < space->nr_free; i++) {
		struct space_extent gap = space->free[i];
		uint64_t end = (uint64_t)gap.first + gap.nr;
		uint64_t first = place(gap.first, nr, align, boundary);

		if (first + nr > end)
			continue;

		struct space_extent tail = { (uint32_t)(first + nr), (uint32_t)(end - first - nr) };

		space->free[i].nr = (uint32_t)(first - gap.first);
		if (tail.nr)
			insert_at(space, i + 1, tail);
		if (!space->free[i].nr)
			remove_at(space, i);
		space->in_use += nr;
		*ret = (uint32_t)first;
		return 0;
	}
	return -ENOSPC;
}

int space_free(struct space *space, uint32_t first, uint32_t nr)
{
	size_t idx = 0;

	assert(nr && first <= space->size && nr <= space->size - first);
	if (reserve_one(space))
		return -ENOMEM;
	while (idx < space->nr_free && space->free[idx].first < first)
		idx++;
	assert(idx == 0 || space->free[idx - 1].first + space->free[idx - 1].nr <= first);
	assert(idx == space->nr_free || first + nr <= space->free[idx].first);

	insert_at(space, idx, (struct space_extent){ first, nr });
	space->in_use -= nr;
	if (idx + 1 < space->nr_free && first + nr == space->free[idx + 1].first) {
		space->free[idx].nr += space->free[idx + 1].nr;
		remove_at(space, idx + 1);
	}
	if (idx > 0 && space->free[idx - 1].first + space->free[idx - 1].nr == first) {
		space->free[idx - 1].nr += space->free[idx].nr;
		remove_at(space, idx);
	}
	return 0;
}
