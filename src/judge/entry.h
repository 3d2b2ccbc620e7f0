/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was the function at the thread's pc just called? The call before the return address on top of the
 * stack must lead there, by its registers, which the call left alone, and by memory.
 */
#pragma once

#include "judge/shadow.h"

/* Copy @size bytes at @addr to @dst; false: they cannot be read. */
typedef bool (*entry_read_fn)(void *ctx, uint64_t addr, size_t size, void *dst);

/* False: not proven. *ret_ra: the return address. Pure. */
bool entry_is_proven(const struct registers *now, entry_read_fn read, void *ctx, uint64_t *ret_ra);
