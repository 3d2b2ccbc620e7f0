/* SPDX-License-Identifier: Apache-2.0 */
/* The times of threads by thread, exactly: of one window of a run. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/vector.h"
#include "profile/profile.h"

struct kernel_side;

struct thread_sums {
	VECTOR(struct profile_thread);
	struct fpl_thread_sum beyond; /* of those that there was no room for */
	bool are_kept;
};

void thread_sums_fini(struct thread_sums *sums);

/* Replace @sums by what was added up since the last time: while no program runs, with
 * engine_has_thread_sums(). Errors: -ENOMEM; bpf(2). */
FPL_MUST_CHECK int thread_sums_take(struct thread_sums *sums, struct kernel_side *kernel);

/* Hand them over to @profile. */
void thread_sums_give(struct thread_sums *sums, struct profile *profile);
