/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that take samples: which of them a run needs, and the slots of memory and counters
 * that they need on each CPU (bpf/slot.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/source.h"

struct bpf_program;
struct fpless_bpf;

/*
 * Let the open @skel load the samplers of @sources and no other, with as many slots as they need,
 * and the map of what is asked of records where there are any. Call samplers_prepare() before the
 * object is opened.
 */
FPL_MUST_CHECK int samplers_choose(struct fpless_bpf *skel, const struct source *sources,
				   size_t nr);

/* Errors: as preemption_find, where a source is a uprobe. */
FPL_MUST_CHECK int samplers_prepare(const struct source *sources, size_t nr, struct fpl_err *err);

/* Is the program one of them? The others follow the lives of processes. */
bool samplers_has(const struct fpless_bpf *skel, const struct bpf_program *program);

int samplers_fd(const struct fpless_bpf *skel, enum sampler sampler);

/* The programs for the entry of functions that allocate and of those that free, with SAMPLER_ALLOC
 * for the return of the former. Links to the former two have enum fpl_alloc in their cookie. */
int samplers_alloc_fd(const struct fpless_bpf *skel);
int samplers_free_fd(const struct fpless_bpf *skel);

/*
 * Sums over all CPUs and slots. One event in @every[source] (0: each) is sampled: the others are
 * not among those that entered here, as they are not among those that fired.
 */
FPL_MUST_CHECK int samplers_counters(const struct fpless_bpf *skel,
				     const uint32_t every[static FPL_SOURCES_MAX],
				     struct fpl_counters *ret);

/* Runs of all samplers as the kernel counted them; 0 while kernel.bpf_stats_enabled is off. */
uint64_t samplers_run_cnt(const struct fpless_bpf *skel);
