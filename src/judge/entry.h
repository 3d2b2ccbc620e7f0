/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was a thread just called to where it is? The call before the return address on top of its stack
 * must lead there, as its registers, which the call left alone, and memory say.
 */
#pragma once

#include "judge/shadow.h"

/* Copy @size bytes at @addr to @dst; false: they cannot be read. */
typedef bool (*entry_read_fn)(void *ctx, uint64_t addr, size_t size, void *dst);

/* False: it is not proven. *ret_ra: the return address. Pure. */
bool entry_is_proven(const struct registers *now, entry_read_fn read, void *ctx, uint64_t *ret_ra);
