/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks all of which is used. Much of one is asked for in large pages: fewer faults while it
 * is filled, fewer walks over page tables where it is read here and there.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE (2u << 20)

/* @size bytes, to be freed; NULL: no memory. */
static inline void *large_alloc(size_t size)
{
	void *bytes;

	if (size < LARGE_PAGE || size > SIZE_MAX - LARGE_PAGE)
		return malloc(size ? size : 1);
	bytes = aligned_alloc(LARGE_PAGE, (size + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1));
	if (bytes)
		(void)madvise(bytes, size, MADV_HUGEPAGE);
	return bytes;
}

/* @nr times @size bytes of zeros, to be freed; NULL: no memory. */
static inline void *large_calloc(size_t nr, size_t size)
{
	void *bytes;

	if (size && nr > SIZE_MAX / size)
		return NULL;
	if (nr * size < LARGE_PAGE)
		return calloc(nr, size);
	bytes = large_alloc(nr * size);
	return bytes ? memset(bytes, 0, nr * size) : NULL;
}
