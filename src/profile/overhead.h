/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what a run costs, helpers included, and keeps to --max-overhead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared.h"
#include "profile/source.h"
#include "profile/throttle.h"
#include "profile/kernel_side.h"
#include "profile/usage.h"

/* All pointers are borrowed. */
struct overhead_config {
	struct source *sources; /* [nr_sources] */
	size_t nr_sources;
	struct kernel_side *kernel;
	double limit;	   /* per cent, --max-overhead; 0: none, as without a clock and block_ns */
	uint64_t block_ns; /* of waits one is sampled for so much at first; 0: none, or each */
	uint64_t max_hz;   /* the frequency to come up to, -F max; 0: that of source */
	pid_t command;	   /* a child that is no helper; 0: there is no command */
};

/* Zeroed but for its config: nothing was looked at yet. */
struct overhead {
	struct overhead_config config;
	uint64_t rss_peak_bytes; /* helpers included */
	struct usage_helpers helpers;
	uint64_t helpers_ns; /* when they were looked at last */
	struct throttle throttle;
	struct source *clock;	      /* of the sources; NULL: none is one */
	uint64_t begun_ns;	      /* the period of the throttle at first */
	uint64_t nr_samples, work_ns; /* of what is profiled, at the last look */
	bool has_said_stuck;
};

/*
 * Note the memory in use, and the CPU time and memory of the helpers, unless these were noted less
 * than @most_age_ns ago; 0 notes them in any case. With UINT64_MAX they are noted each second where
 * a limit is judged by them, else each minute.
 */
void overhead_look(struct overhead *overhead, uint64_t now, uint64_t most_age_ns);
/* Watch what the run costs from here on, where events are enabled. */
void overhead_begin(struct overhead *overhead, uint64_t now);
/* Sample less often where it costs too much. Of a clock as often as was asked where it does not; of
 * waits never more than before, so that no carry has to shrink (bpf/blocked.h). */
void overhead_check(struct overhead *overhead, const struct fpl_counters *counters, uint64_t now);
