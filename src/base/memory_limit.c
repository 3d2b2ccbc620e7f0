/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory_limit.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static bool is_set;

void memory_limit_set(uint64_t bytes)
{
	struct rlimit limit;

	/* otherwise the first large array that is freed moves all later ones into the heap, which
	 * gives nothing back */
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
	if (SANITIZED || getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	bytes = bytes > MEMORY_LIMIT_MIN ? bytes : MEMORY_LIMIT_MIN;
	if (limit.rlim_cur > bytes)
		limit.rlim_cur = bytes;
	is_set = setrlimit(RLIMIT_DATA, &limit) == 0;
}

const char *memory_limit_advice(int code)
{
	return is_set && code == -ENOMEM ? ": more --memory" : "";
}
