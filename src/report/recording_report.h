/* SPDX-License-Identifier: Apache-2.0 */
/* The closing report about recordings read from files: their quality, and the books. For stderr. */
#pragma once

#include <stdio.h>

#include "recording/merge.h"
#include "recording/recording.h"

/* The merge that made @recording returned @result, and a writer @shown. */
void recording_report_write(FILE *to, const struct recording *recording,
			    const struct merge_result *result, uint64_t shown);
