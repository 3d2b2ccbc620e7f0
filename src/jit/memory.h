/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a process, read a page at a time. Everything in it is hostile, and may change while
 * it is read. What one reader may read is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JIT_PAGE_SIZE  4096u
#define JIT_PAGES_KEPT 256u
#define JIT_PAGES_MAX  (1u << 17) /* read in all: 512 MiB */
#define JIT_TEXT_MAX   1024u	  /* bytes of one text, its NUL included */

struct jit_page {
	uint64_t addr; /* 1: nothing is kept here */
	uint8_t bytes[JIT_PAGE_SIZE];
};

struct jit_memory {
	/* Copy the @size bytes at @addr; 0 if it got them all. */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t size);
	void *ctx;
	uint32_t pages_left;
	struct jit_page pages[JIT_PAGES_KEPT];
};

/* Read the memory that @read has. Errors: -ENOMEM. */
FPL_MUST_CHECK int jit_memory_create(int (*read)(void *ctx, uint64_t addr, void *dst, size_t size),
				     void *ctx, struct jit_memory **ret);
/* NULL is allowed. */
void jit_memory_destroy(struct jit_memory *memory);

/* Copy the @size bytes at @addr. Returns whether they could be read. Cost: a copy; for a page that
 * is not kept, one read. */
bool jit_read(struct jit_memory *memory, uint64_t addr, void *dst, size_t size);

/* A number of @size bytes (1, 2, 4 or 8; else false), little-endian. */
bool jit_read_uint(struct jit_memory *memory, uint64_t addr, size_t size, uint64_t *ret);

/* The text at @addr, with its NUL: at most JIT_TEXT_MAX bytes. */
bool jit_read_text(struct jit_memory *memory, uint64_t addr, char ret[JIT_TEXT_MAX]);
