/* SPDX-License-Identifier: Apache-2.0 */
/* How long threads waited at each lock, exactly: of one window of a run. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/vector.h"
#include "profile/profile.h"

struct kernel_side;

struct lock_sums {
	VECTOR(struct profile_lock);
	struct fpl_lock beyond; /* of those that there was no room for */
};

void lock_sums_fini(struct lock_sums *sums);

/* Replace @sums by what was added up since the last time: while no program runs. Errors: -ENOMEM;
 * bpf(2). */
FPL_MUST_CHECK int lock_sums_take(struct lock_sums *sums, struct kernel_side *kernel);

/* Hand them over to @profile. */
void lock_sums_give(struct lock_sums *sums, struct profile *profile);
