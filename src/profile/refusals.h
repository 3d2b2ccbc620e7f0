/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what each owner loses to the limits of shares (share.h). */
#pragma once

#include "profile/profile.h"
#include "profile/share.h"

/*
 * Fills refused, owners and nr_owners of @profile. @books: by enum profile_limit; borrowed. The
 * last entry of a full book holds several owners: it counts for OWNER_UNKNOWN. Cost:
 * O(owners^2). Errors: -ENOMEM.
 */
FPL_MUST_CHECK int refusals_sum(const struct share_book *const books[PROFILE_LIMIT_COUNT],
				struct profile *profile);
