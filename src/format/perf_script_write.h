/* SPDX-License-Identifier: Apache-2.0 */
/* Text as of `perf script`, for the many tools that read it. fpless-formats(5). */
#pragma once

#include <stdio.h>

#include "view/format.h"

/* A comment before all blocks begins so where weights are shown: "TYPE UNIT" follow. */
#define PERF_SCRIPT_WEIGHT "# weight : "
/* Another: the words "state" and "key" follow, where stacks are shown by these. */
#define PERF_SCRIPT_BY "# by :"
/* A comment below the first line of a block: words "state=STATE" and "FIELD=VALUE" follow. There
 * every reader skips it; above a block some take it for the block's first line. */
#define PERF_SCRIPT_LABELS "# labels :"
/* Bytes that are escaped in its words, beside those of all texts. */
#define PERF_SCRIPT_LABELS_ESCAPED " :=()"

/* Write a block for each sample; as format_write_fn. */
FPL_MUST_CHECK int perf_script_write(FILE *to, const struct recording *recording,
				     const struct format_options *options, uint64_t *ret_shown,
				     struct fpl_err *err);
