/* SPDX-License-Identifier: Apache-2.0 */
#include "format/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#include "base/alloc.h"

#define BLOCK_SIZE ((size_t)256 << 10)

struct arena_block {
	struct arena_block *next; /* owned */
	size_t used, size;
	alignas(max_align_t) unsigned char bytes[];
};

static void *allocate(void *ctx, size_t size)
{
	struct arena *arena = ctx;
	struct arena_block *block = arena->blocks;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!block || block->size - block->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		block = must_malloc(sizeof(*block) + room);
		*block = (struct arena_block){ .next = arena->blocks, .size = room };
		arena->blocks = block;
		arena->bytes += room;
	}
	block->used += size;
	return block->bytes + block->used - size;
}

static void release(void *ctx, void *pointer)
{
	(void)ctx;
	(void)pointer;
}

void arena_init(struct arena *arena)
{
	*arena = (struct arena){ .allocator = { allocate, release, arena } };
}

static void drop_first(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	arena->blocks = block->next;
	arena->bytes -= block->size;
	free(block);
}

void arena_fini(struct arena *arena)
{
	while (arena->blocks)
		drop_first(arena);
}

void arena_reset(struct arena *arena)
{
	while (arena->blocks && arena->blocks->next)
		drop_first(arena);
	if (arena->blocks)
		arena->blocks->used = 0;
}
