/* SPDX-License-Identifier: Apache-2.0 */
/* A limit on what this process allocates, kept by the kernel: no part of the program can forget it.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* What the program takes before it has read anything; always granted. */
#define MEMORY_LIMIT_MIN (UINT64_C(16) << 20)

/*
 * From now on the process may have @bytes of writable memory of its own, MEMORY_LIMIT_MIN at least
 * (RLIMIT_DATA): an allocation beyond that fails. Large arrays that are freed go back at once.
 * Files of memory (memfd) are not counted. Without effect in a build with sanitizers, whose own
 * memory is beyond any limit.
 */
void memory_limit_set(uint64_t bytes);

/* What to say behind a message with @code: ": more --memory" where the limit is why; "" else. */
const char *memory_limit_advice(int code);
