/* SPDX-License-Identifier: Apache-2.0 */
/* A limit on what this process allocates, kept by the kernel: no part of the program can forget it.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Memory of the program before it has read any input; always granted. */
#define MEMORY_LIMIT_MIN (UINT64_C(16) << 20)

/*
 * Limit this process to @bytes of writable memory of its own, MEMORY_LIMIT_MIN at least
 * (RLIMIT_DATA): an allocation beyond that fails. Large freed arrays are given back at once. Memory
 * files (memfd) are not counted. No effect in a build with sanitizers, whose own memory is beyond
 * any limit.
 */
void memory_limit_set(uint64_t bytes);

/*
 * Advice to append to a message with @code: ": more --memory" if the limit is the cause; else "".
 */
const char *memory_limit_advice(int code);
