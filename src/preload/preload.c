/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfpless-heap.so, which `fpless heap --preload` has ld.so load before all other libraries of a
 * command: it stands before the functions that allocate and free, chooses allocations by their
 * bytes, and tells of them, and of their frees, by USDT probes. These are OpenTelemetry's, so other
 * profilers understand them, too:
 *
 *   otel_memory:alloc(address, size, weight)    the size that was asked for, and for how many bytes
 *                                               of all it stands
 *   otel_memory:free(address)                   of an allocation that was told
 *
 * It allocates nothing itself, takes no lock, and makes no system call, unless the clock is one.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "preload/mark.h"
#include "preload/next.h"
#include "preload/pace.h"
#include "preload/preload.h"
#include "preload/strata.h"
#include "preload/told_set.h"

#define EXPORT	     __attribute__((__visibility__("default"), __noipa__))
#define APART	     __attribute__((__noinline__, __cold__))
#define LIKELY(cond) __builtin_expect(!!(cond), 1)

#define NOT_CHOSEN UINT64_MAX /* more than any weight */

/* Beyond it nothing is allocated: sums below stay in 64 bits. */
#define SIZE_LIMIT ((size_t)PTRDIFF_MAX)

/* How many listen: the kernel counts here. */
__attribute__((__section__(".probes"), __used__)) volatile uint16_t otel_memory_alloc_semaphore;
__attribute__((__section__(".probes"), __used__)) volatile uint16_t otel_memory_free_semaphore;

static __thread struct strata strata;
/* In no function's frame: with a pointer into one it could not end in a jump. */
static __thread struct told_slot freed;
static __thread struct pace pace;
static uint64_t stride; /* 0: not known yet, nor is the rate */
static uint32_t rate;	/* 0: none */
struct told_set told;

/* The number of a variable, 1 to @most; @otherwise: it says none. */
static uint64_t read_number(const char *name, uint64_t most, uint64_t otherwise)
{
	const char *text = getenv(name);
	unsigned long long value = text ? strtoull(text, NULL, 10) : 0;

	return value && value <= most ? value : otherwise;
}

/* Read what fpless wants. Returns the stride; 0: it is too early to ask. */
static uint64_t read_wanted(void)
{
	if (!environ)
		return 0;
	__atomic_store_n(&rate, (uint32_t)read_number(PRELOAD_RATE, PRELOAD_RATE_MAX, 0),
			 __ATOMIC_RELAXED);
	return read_number(PRELOAD_STRIDE, PRELOAD_STRIDE_MAX, PRELOAD_STRIDE_DEFAULT);
}

/* Milliseconds are enough, and that clock costs least. */
static uint64_t now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * PACE_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* A number that no other thread has, nor the same thread of another run. */
static uint64_t seed(void)
{
	static uint64_t nr_threads;
	const void *at = (const void *)getauxval(AT_RANDOM);
	uint64_t of_process = 0;

	if (at)
		memcpy(&of_process, at, sizeof(of_process));
	return of_process ^ (uintptr_t)&strata ^
	       __atomic_add_fetch(&nr_threads, 1, __ATOMIC_RELAXED) << 48;
}

/* Begin to sample in this thread. False: it is too early. */
static bool begin(void)
{
	uint64_t wanted = __atomic_load_n(&stride, __ATOMIC_ACQUIRE);

	if (!wanted) {
		wanted = read_wanted();
		__atomic_store_n(&stride, wanted, __ATOMIC_RELEASE);
	}
	if (wanted) {
		strata_begin(&strata, seed(), wanted);
		pace_begin(&pace, wanted, now_ns());
	}
	return wanted;
}

/*
 * Returns what a sample of the next @size bytes weighs, NOT_CHOSEN without one. No bytes have no
 * point; such an allocation is sampled where all others are.
 */
APART static uint64_t choose(size_t size)
{
	uint64_t weight;

	if (size > SIZE_LIMIT || (!strata.seed && !begin()))
		return NOT_CHOSEN;
	if (size < strata.left) {
		strata.left -= size;
		return NOT_CHOSEN;
	}
	weight = strata_take(&strata, size, pace.stride);
	if (!otel_memory_alloc_semaphore)
		return NOT_CHOSEN;
	/* each byte is a sample where a stride is one: all are asked for */
	if (rate && stride > 1 && pace_count(&pace))
		pace_look(&pace, stride, PRELOAD_STRIDE_MAX, rate, now_ns());
	return weight;
}

/*
 * The probes. Nothing but the return address is on the stack, so the walk begins at the caller
 * (bpf/heap.h). Returns @ret.
 */
__attribute__((__noipa__)) static void *tell(void *addr, size_t size, uint64_t weight, void *ret)
{
	MARK("otel_memory", "alloc", "otel_memory_alloc_semaphore", "8@%%rdi 8@%%rsi 8@%%rdx",
	     "D"(addr), "S"(size), "d"(weight));
	return ret;
}

/* The same for posix_memalign(). */
__attribute__((__noipa__)) static int tell_stored(void *addr, size_t size, uint64_t weight)
{
	MARK("otel_memory", "alloc", "otel_memory_alloc_semaphore", "8@%%rdi 8@%%rsi 8@%%rdx",
	     "D"(addr), "S"(size), "d"(weight));
	return 0;
}

__attribute__((__noipa__)) static void tell_free(void *addr)
{
	MARK("otel_memory", "free", "otel_memory_free_semaphore", "8@%%rdi", "D"(addr));
}

/* Take an allocation out of the set before it is freed, and say so. If TOLD_TAKEN, it was @freed.
 */
static enum told_answer forget(void *addr)
{
	enum told_answer answer = addr ? told_set_take(&told, (uintptr_t)addr, &freed) : TOLD_NOT;

	if (answer != TOLD_NOT)
		tell_free(addr);
	return answer;
}

/*
 * The functions that allocate. Those that choose are jumped to, and end in a jump to tell(): only
 * so is the caller of malloc() the next on the stack.
 */
#define ALLOCATOR(name, bytes, args, ...)                            \
	APART static void *chosen_##name(__VA_ARGS__)                \
	{                                                            \
		uint64_t weight = choose(bytes);                     \
		void *addr = next.name args;                         \
                                                                     \
		if (weight == NOT_CHOSEN || !addr)                   \
			return addr;                                 \
		told_set_add(&told, (uintptr_t)addr, bytes, weight); \
		return tell(addr, bytes, weight, addr);              \
	}                                                            \
                                                                     \
	EXPORT void *name(__VA_ARGS__)                               \
	{                                                            \
		if (!LIKELY((bytes) < strata.left))                  \
			return chosen_##name args;                   \
		strata.left -= (bytes);                              \
		return next.name args;                               \
	}

/* Beyond SIZE_LIMIT where it overflows: the function behind refuses it. */
static inline size_t product(size_t nr, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(nr, size, &bytes) ? SIZE_MAX : bytes;
}

ALLOCATOR(malloc, size, (size), size_t size)
ALLOCATOR(calloc, product(nr, size), (nr, size), size_t nr, size_t size)
ALLOCATOR(aligned_alloc, size, (alignment, size), size_t alignment, size_t size)
ALLOCATOR(memalign, size, (alignment, size), size_t alignment, size_t size)
ALLOCATOR(valloc, size, (size), size_t size)
ALLOCATOR(pvalloc, size, (size), size_t size)

APART static int chosen_posix_memalign(void **ret, size_t alignment, size_t size)
{
	uint64_t weight = choose(size);
	int code = next.posix_memalign(ret, alignment, size);

	if (weight == NOT_CHOSEN || code || !*ret)
		return code;
	told_set_add(&told, (uintptr_t)*ret, size, weight);
	return tell_stored(*ret, size, weight);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (!LIKELY(size < strata.left))
		return chosen_posix_memalign(ret, alignment, size);
	strata.left -= size;
	return next.posix_memalign(ret, alignment, size);
}

/*
 * realloc() where the old memory or the new one is told. That the old memory is freed is told
 * before: another thread may have its address as soon as it is. Where it was not freed after all,
 * it is told again.
 */
APART static void *chosen_realloc(void *old, size_t size)
{
	enum told_answer answer = forget(old);
	const struct told_slot was = freed;
	size_t nr_early = next_early_size(old);
	uint64_t weight = choose(size);
	void *addr;

	addr = nr_early ? next.malloc(size) : next.realloc(old, size);
	if (addr && nr_early)
		memcpy(addr, old, size < nr_early ? size : nr_early);
	if (!addr && answer == TOLD_TAKEN && size) {
		told_set_add(&told, (uintptr_t)old, was.size, was.weight);
		return tell(old, was.size, was.weight, NULL);
	}
	if (weight == NOT_CHOSEN || !addr)
		return addr;
	told_set_add(&told, (uintptr_t)addr, size, weight);
	return tell(addr, size, weight, addr);
}

EXPORT void *realloc(void *old, size_t size)
{
	if (!LIKELY(size < strata.left) || told_may_have(&told, (uintptr_t)old))
		return chosen_realloc(old, size);
	strata.left -= size;
	return next.realloc(old, size);
}

/* As realloc() of the product, which the function behind refuses where it overflows. */
EXPORT void *reallocarray(void *old, size_t nr, size_t size)
{
	size_t bytes = product(nr, size);

	if (bytes > SIZE_LIMIT)
		return next.reallocarray(old, nr, size);
	if (!LIKELY(bytes < strata.left) || told_may_have(&told, (uintptr_t)old))
		return chosen_realloc(old, bytes);
	strata.left -= bytes;
	return next.realloc(old, bytes);
}

APART static void chosen_free(void *addr)
{
	if (next_early_size(addr))
		return;
	forget(addr);
	next.free(addr);
}

EXPORT void free(void *addr)
{
	if (LIKELY(!told_may_have(&told, (uintptr_t)addr)))
		next.free(addr);
	else
		chosen_free(addr);
}

/* C23 has them; they free as free() does. */
EXPORT void free_sized(void *addr, size_t size);
EXPORT void free_aligned_sized(void *addr, size_t alignment, size_t size);

void free_sized(void *addr, size_t size)
{
	(void)size;
	free(addr);
}

void free_aligned_sized(void *addr, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(addr);
}
