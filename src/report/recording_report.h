/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closing report about recordings read from files: as run_report.h, a summary and a line for
 * each thing that is wrong; with details their quality, and the books. For stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "recording/merge.h"
#include "recording/recording.h"
#include "report/summary.h"

struct recording_report {
	const struct recording *recording; /* borrowed, as all below */
	const struct merge_result *result; /* of the merge that made it */
	uint64_t shown;			   /* samples that a writer wrote */
	const char *const *outputs;	   /* [nr_outputs]: files that were written */
	size_t nr_outputs;
	struct summary_unnamed unnamed;
};

void recording_report_write(FILE *to, const struct recording_report *report, bool details);
