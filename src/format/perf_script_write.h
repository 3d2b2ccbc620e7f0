/* SPDX-License-Identifier: Apache-2.0 */
/* Text as of `perf script`, for the many tools that read it. fpless-formats(5). */
#pragma once

#include <stdio.h>

#include "view/format.h"

/* A comment before all blocks begins so where weights are shown: "TYPE UNIT" follow. */
#define PERF_SCRIPT_WEIGHT "# weight : "

/* Write a block for each sample; as format_write_fn. */
FPL_MUST_CHECK int perf_script_write(FILE *to, const struct recording *recording,
				     const struct format_options *options, uint64_t *ret_shown,
				     struct fpl_err *err);
