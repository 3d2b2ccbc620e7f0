/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind those of the library: of the allocator that the program would have without
 * it. */
#pragma once

#include <stddef.h>

/* At first they are functions that look for them; where an allocator lacks one, it is one that
 * fails. */
extern __attribute__((__visibility__("hidden"))) struct next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free)(void *);
} next;

/*
 * Was it allocated while they were looked for? Such memory is in the set's cells (told_may_have()),
 * and not theirs to free. Returns how many bytes from there on may be read; 0: it was not.
 */
size_t next_early_size(const void *addr);
