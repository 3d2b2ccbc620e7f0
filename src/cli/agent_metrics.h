/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of an agent since it began, as a line of status and as metrics of Prometheus. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/hottest.h"
#include "profile/profile.h"

#define AGENT_TOP_MAX 10u /* functions among the metrics */

struct agent_sums {
	uint64_t nr_kept;    /* windows in the store */
	uint64_t nr_refused; /* that the store did not take */
	uint64_t nr_dropped; /* that were never named: four others waited already */
	uint64_t store_bytes;
	uint64_t bpf_ns; /* of programs in the kernel */
	uint64_t lost[FPL_LOST_COUNT], stops[FPL_STOP_COUNT];
	uint64_t samples[FPL_SOURCES_MAX];		/* [nr_sources] */
	char sources[FPL_SOURCES_MAX][SOURCE_NAME_MAX]; /* [nr_sources]: their names */
	size_t nr_sources;

	uint64_t nr_numbered; /* windows begun, up to the last one */
	struct {
		uint64_t start_unix_ns, end_unix_ns, samples, lost;
	} last; /* window */
};

/* Add a window, which was kept or refused. Windows come in their order. */
void agent_sums_add(struct agent_sums *sums, const struct profile *profile, bool is_kept);

/* "3 windows kept, ...": a line without its end. */
void agent_sums_write_status(FILE *to, const struct agent_sums *sums);

/*
 * Write all as text of Prometheus, version 0.0.4. Labels are of closed sets, but for the names of
 * the @top hottest functions of the last window. @hottest has those and more, since several
 * functions may have one name.
 */
void agent_sums_write_metrics(FILE *to, const struct agent_sums *sums,
			      const struct hottest *hottest, size_t top);
