/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a run that are shown: those that --focus and --ignore want. */
#pragma once

#include "base/err.h"
#include "profile/profile.h"
#include "recording/filter.h"
#include "recording/recording.h"

/*
 * The samples of @recording that @options want: it itself, or @kept, made of them, which is zeroed
 * and the caller's. The others are filtered, in the books of @profile, too. Errors: -ENOMEM and
 * others.
 */
FPL_MUST_CHECK int wanted_keep(const struct filter_options *options,
			       const struct recording *recording, struct recording *kept,
			       struct profile *profile, const struct recording **ret,
			       struct fpl_err *err);
