/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of waits lead to the stacks of those that ended them, by links in their keys
 * (bpf/shared_locks.h). Those stacks are no samples of their own.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct kernel_side;
struct profile;
struct stack_store;

/*
 * The ids in the links of @store become 1 + the place of a stack in what stack_store_take() hands
 * over, or FPL_LINK_LOST. All is counted, and the store takes nothing in from here on. Errors:
 * -ENOMEM.
 */
FPL_MUST_CHECK int wait_links_resolve(struct stack_store *store);

/*
 * Part what the store has handed over into the stacks of @profile and its wakers, which its books
 * have no more. @has_own: the first link of a sample is its own stack, which moves there, unless
 * the sample has one; profile.nr_links is one less then. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int wait_links_take(struct profile *profile, bool has_own);
