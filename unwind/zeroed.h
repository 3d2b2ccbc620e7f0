/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large zeroed memory of which only a part is used. calloc() clears all of a block that its heap
 * has used before, so every compile of a small file would touch 2 MiB for the 100 KiB it needs;
 * fresh pages of the kernel cost nothing until they are touched.
 */
#pragma once

#include <stddef.h>
#include <sys/mman.h>

#include "base/large.h"

/* @size bytes of zeroes, page-aligned; NULL: out of memory. */
static inline void *zeroed_alloc(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return ptr == MAP_FAILED ? NULL : ptr;
}

/* As zeroed_alloc(), for memory of which most will be used: in large pages, if available. */
static inline void *zeroed_alloc_dense(size_t size)
{
	void *ptr = zeroed_alloc(size);

	if (ptr && size >= 4 * LARGE_PAGE)
		(void)madvise(ptr, size, MADV_HUGEPAGE);
	return ptr;
}

/* Free memory of zeroed_alloc(@size) or zeroed_alloc_dense(@size); NULL is allowed. */
static inline void zeroed_free(void *ptr, size_t size)
{
	if (ptr)
		munmap(ptr, size);
}
