/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_PAGE 1u

int jit_memory_create(int (*read)(void *ctx, uint64_t addr, void *dst, size_t size), void *ctx,
		      struct jit_memory **ret)
{
	struct jit_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	memory->read = read;
	memory->ctx = ctx;
	memory->pages_left = JIT_PAGES_MAX;
	for (size_t i = 0; i < JIT_PAGES_KEPT; i++)
		memory->pages[i].addr = NO_PAGE;
	*ret = memory;
	return 0;
}

void jit_memory_destroy(struct jit_memory *memory)
{
	free(memory);
}

static const struct jit_page *page_of(struct jit_memory *memory, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(JIT_PAGE_SIZE - 1);
	uint64_t hash = (start / JIT_PAGE_SIZE) * 0x9e3779b97f4a7c15ull >> 56;
	struct jit_page *page = &memory->pages[hash % JIT_PAGES_KEPT];

	if (page->addr == start)
		return page;
	if (!memory->pages_left)
		return NULL;
	memory->pages_left--;
	page->addr = NO_PAGE;
	if (memory->read(memory->ctx, start, page->bytes, JIT_PAGE_SIZE))
		return NULL;
	page->addr = start;
	return page;
}

bool jit_read(struct jit_memory *memory, uint64_t addr, void *dst, size_t size)
{
	uint8_t *to = dst;

	if (addr > UINT64_MAX - size)
		return false;
	while (size) {
		size_t off = addr % JIT_PAGE_SIZE;
		size_t part = JIT_PAGE_SIZE - off < size ? JIT_PAGE_SIZE - off : size;
		const struct jit_page *page = page_of(memory, addr);

		if (!page)
			return false;
		memcpy(to, page->bytes + off, part);
		to += part;
		addr += part;
		size -= part;
	}
	return true;
}

bool jit_read_uint(struct jit_memory *memory, uint64_t addr, size_t size, uint64_t *ret)
{
	*ret = 0;
	return (size == 1 || size == 2 || size == 4 || size == 8) &&
	       jit_read(memory, addr, ret, size);
}

bool jit_read_text(struct jit_memory *memory, uint64_t addr, char ret[JIT_TEXT_MAX])
{
	for (size_t i = 0; i < JIT_TEXT_MAX; i++) {
		if (!jit_read(memory, addr + i, &ret[i], 1))
			return false;
		if (!ret[i])
			return true;
	}
	return false;
}
