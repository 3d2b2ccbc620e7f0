/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits at locks: the stacks of those that waited lead to the stacks of those that ended it
 * (bpf/lock.h), and each lock has an exact sum.
 */
#pragma once

#include "base/err.h"

struct kernel_side;
struct profile;
struct stack_store;

/*
 * The ids of wakers in the keys of @store become 1 + their place in what stack_store_take() hands
 * over; 0: lost. All is counted, and the store takes nothing in from here on. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int lock_waits_link(struct stack_store *store);

/*
 * Part what the store has handed over into the stacks of @profile and its wakers, which its books
 * have no more, and fill in its locks. Errors: -ENOMEM, and those of kernel_side_locks().
 */
FPL_MUST_CHECK int lock_waits_take(const struct kernel_side *kernel, struct profile *profile);
