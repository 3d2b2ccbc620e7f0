/* SPDX-License-Identifier: Apache-2.0 */
/* The closing report of what was read from files: how good it is, and the books. For stderr. */
#pragma once

#include <stdio.h>

#include "recording/merge.h"
#include "recording/recording.h"

/* @result: of the merge that made @recording. @shown: what a writer returned. */
void recording_report_write(FILE *to, const struct recording *recording,
			    const struct merge_result *result, uint64_t shown);
