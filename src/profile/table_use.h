/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tables the walks of late have used, and which were missing: from the counts of the stacks,
 * whose frames name their objects. So a walk pays nothing for it; it is looked at only when tables
 * do not all fit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/catalog.h"
#include "profile/stack_store.h"

/* Forget half of what was seen before: before each look. */
void table_use_fade(const struct catalog *catalog);

/* Note @count samples of a stack: @user [nr_user], leaf first, that ended with @stop. */
void table_use_note(const struct catalog *catalog, const uint64_t *user, size_t nr_user,
		    uint8_t stop, uint64_t count, uint64_t look);
