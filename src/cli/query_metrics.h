/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a store for Prometheus, where no agent tells its own. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/query_options.h"
#include "store/store.h"

/* Write those of all windows: gauges, since windows go. Errors: those of store_list(). */
FPL_MUST_CHECK int query_metrics(FILE *to, struct store *store, const struct query_options *options,
				 struct fpl_err *err);
