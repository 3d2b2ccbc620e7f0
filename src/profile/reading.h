/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the kernel about a run, which only grow: a window (run_window.h) has the difference
 * of two readings. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/kernel_side.h"
#include "profile/source.h"

struct reading {
	struct fpl_counters counters; /* sums over all CPUs */
	struct source_due due;
	uint64_t bpf_runs;	/* as kernel_side_run_cnt */
	struct fpl_times times; /* of threads whose books were closed */
};

/* All of it so far: exact while no program runs, and the books of threads are closed. Errors:
 * -ENOMEM; bpf(2). */
FPL_MUST_CHECK int reading_take(const struct kernel_side *kernel, const struct source *sources,
				size_t nr_sources, struct reading *ret);

/* The part that was counted after @before. */
struct reading reading_since(const struct reading *reading, const struct reading *before);
