/* SPDX-License-Identifier: Apache-2.0 */
/* `fpless query advice': how good the samples of a time are, and what makes them better. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/query_options.h"
#include "store/store.h"

/* Write it. Errors: those of store_read(); -ENODATA there are no samples, which is not
 * described.
 */
FPL_MUST_CHECK int query_advice(FILE *to, struct store *store, const struct query_options *options,
				struct fpl_err *err);
