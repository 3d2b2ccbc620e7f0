/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `fpless query profiles': each window as profiles, one for each unit, source and
 * state, as other programs keep them. Text and bytes by turns:
 *
 *	window START END SAMPLES
 *	profile BYTES START END SAMPLES WEIGHT TYPE UNIT STATE NAME
 *	... BYTES bytes, and a line's end ...
 *	end
 *
 * Times are ns since 1970. WEIGHT is the sum of what TYPE names, in UNIT. NAME is unit_name() of
 * the cgroup. Words have no blank; "-" stands for no state.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/query_options.h"
#include "store/store.h"

/*
 * Write the windows of the range, at most as many as the limit of @options, and behind 16 MiB no
 * more of them. Errors: those of store_read(); -ENODATA there is no window, which is not described.
 */
FPL_MUST_CHECK int query_profiles(FILE *to, struct store *store,
				  const struct query_options *options, struct fpl_err *err);
