/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/space.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int space_init(struct space *space, uint32_t size)
{
	*space = (struct space){ .size = size };
	return size ? vector_push(&space->free, (struct space_extent){ 0, size }) : 0;
}

void space_fini(struct space *space)
{
	vector_fini(&space->free);
	*space = (struct space){ 0 };
}

static void insert_at(struct space *space, size_t idx, struct space_extent extent)
{
	memmove(&space->free.list[idx + 1], &space->free.list[idx],
		(space->free.nr - idx) * sizeof(extent));
	space->free.list[idx] = extent;
	space->free.nr++;
}

static void remove_at(struct space *space, size_t idx)
{
	space->free.nr--;
	memmove(&space->free.list[idx], &space->free.list[idx + 1],
		(space->free.nr - idx) * sizeof(space->free.list[0]));
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
	if (vector_reserve(&space->free, space->free.nr + 1))
		return -ENOMEM;
	for (size_t i = 0; i < space->free.nr; i++) {
		struct space_extent gap = space->free.list[i];
		uint64_t end = (uint64_t)gap.first + gap.nr;
		uint64_t first = place(gap.first, nr, align, boundary);

		if (first + nr > end)
			continue;

		struct space_extent tail = { (uint32_t)(first + nr), (uint32_t)(end - first - nr) };

		space->free.list[i].nr = (uint32_t)(first - gap.first);
		if (tail.nr)
			insert_at(space, i + 1, tail);
		if (!space->free.list[i].nr)
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
	if (vector_reserve(&space->free, space->free.nr + 1))
		return -ENOMEM;
	while (idx < space->free.nr && space->free.list[idx].first < first)
		idx++;
	assert(idx == 0 || space->free.list[idx - 1].first + space->free.list[idx - 1].nr <= first);
	assert(idx == space->free.nr || first + nr <= space->free.list[idx].first);

	insert_at(space, idx, (struct space_extent){ first, nr });
	space->in_use -= nr;
	if (idx + 1 < space->free.nr && first + nr == space->free.list[idx + 1].first) {
		space->free.list[idx].nr += space->free.list[idx + 1].nr;
		remove_at(space, idx + 1);
	}
	if (idx > 0 && space->free.list[idx - 1].first + space->free.list[idx - 1].nr == first) {
		space->free.list[idx - 1].nr += space->free.list[idx].nr;
		remove_at(space, idx);
	}
	return 0;
}
