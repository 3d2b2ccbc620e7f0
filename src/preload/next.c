/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "preload/told_set.h"

/* Allocations of ld.so and dlsym() while the functions are looked for. */
#define EARLY_SIZE 8192u

static __thread uint32_t is_resolving;
static _Alignas(16) char early[EARLY_SIZE];
static size_t early_used;

static void *first_malloc(size_t size);
static void *first_calloc(size_t nr, size_t size);
static void *first_realloc(void *old, size_t size);
static void *first_reallocarray(void *old, size_t nr, size_t size);
static void *first_aligned_alloc(size_t alignment, size_t size);
static void *first_memalign(size_t alignment, size_t size);
static int first_posix_memalign(void **ret, size_t alignment, size_t size);
static void *first_valloc(size_t size);
static void *first_pvalloc(size_t size);
static void first_free(void *addr);

struct next next = {
	.malloc = first_malloc,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.reallocarray = first_reallocarray,
	.aligned_alloc = first_aligned_alloc,
	.memalign = first_memalign,
	.posix_memalign = first_posix_memalign,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
	.free = first_free,
};

/* They stand for functions that an allocator lacks. */
static void *none_by_size(size_t size)
{
	(void)size;
	errno = ENOMEM;
	return NULL;
}

static void *none_by_sizes(size_t a, size_t b)
{
	(void)a;
	(void)b;
	errno = ENOMEM;
	return NULL;
}

static void *none_again(void *old, size_t nr, size_t size)
{
	(void)old;
	(void)nr;
	(void)size;
	errno = ENOMEM;
	return NULL;
}

static int none_stored(void **ret, size_t alignment, size_t size)
{
	(void)ret;
	(void)alignment;
	(void)size;
	return ENOMEM;
}

/* A pointer to a function is no pointer to an object in C: the bytes are the same in POSIX. */
static void find(void *ret, const char *name, const void *otherwise)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (function)
		memcpy(ret, &function, sizeof(function));
	else
		memcpy(ret, otherwise, sizeof(function));
}

#define FIND(name, none)                                  \
	do {                                              \
		__typeof__(next.name) otherwise = (none); \
		find(&next.name, #name, &otherwise);      \
	} while (0)

/* Look for the functions behind these. Threads that do it at a time find the same. */
__attribute__((__noinline__, __cold__)) static void resolve(void)
{
	if (is_resolving)
		return;
	is_resolving = 1;
	FIND(malloc, none_by_size);
	FIND(calloc, none_by_sizes);
	FIND(realloc, next.realloc);
	FIND(reallocarray, none_again);
	FIND(aligned_alloc, none_by_sizes);
	FIND(memalign, none_by_sizes);
	FIND(posix_memalign, none_stored);
	FIND(valloc, none_by_size);
	FIND(pvalloc, none_by_size);
	FIND(free, next.free);
	is_resolving = 0;
}

/* Memory that is never given back. NULL: there is no more. */
static void *early_take(size_t size)
{
	size_t nr = (size + 15) & ~(size_t)15;
	size_t at = nr > EARLY_SIZE ? EARLY_SIZE
				    : __atomic_fetch_add(&early_used, nr, __ATOMIC_RELAXED);

	if (at > EARLY_SIZE || nr > EARLY_SIZE - at) {
		errno = ENOMEM;
		return NULL;
	}
	told_set_mark(&told, (uintptr_t)&early[at]);
	return &early[at];
}

size_t next_early_size(const void *addr)
{
	uintptr_t at = (uintptr_t)addr - (uintptr_t)early;

	return at < sizeof(early) ? sizeof(early) - at : 0;
}

static void *first_malloc(size_t size)
{
	resolve();
	return is_resolving ? early_take(size) : next.malloc(size);
}

static void *first_calloc(size_t nr, size_t size)
{
	size_t bytes;

	resolve();
	if (!is_resolving)
		return next.calloc(nr, size);
	return __builtin_mul_overflow(nr, size, &bytes) ? NULL : early_take(bytes);
}

static void *first_realloc(void *old, size_t size)
{
	resolve();
	return is_resolving ? old ? NULL : early_take(size) : next.realloc(old, size);
}

static void *first_reallocarray(void *old, size_t nr, size_t size)
{
	resolve();
	return is_resolving ? NULL : next.reallocarray(old, nr, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	resolve();
	return is_resolving ? NULL : next.aligned_alloc(alignment, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	resolve();
	return is_resolving ? NULL : next.memalign(alignment, size);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t size)
{
	resolve();
	return is_resolving ? ENOMEM : next.posix_memalign(ret, alignment, size);
}

static void *first_valloc(size_t size)
{
	resolve();
	return is_resolving ? NULL : next.valloc(size);
}

static void *first_pvalloc(size_t size)
{
	resolve();
	return is_resolving ? NULL : next.pvalloc(size);
}

static void first_free(void *addr)
{
	resolve();
	if (!is_resolving)
		next.free(addr);
}
