/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of shared limits by user, and the option that gives more. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

/* A line for each of the three users whom limits cost most, and one for all others; nothing where
 * everything had room. */
void no_room_write(FILE *to, const struct profile *profile);

/* The word of @limit in --stats. */
const char *no_room_key(enum profile_limit limit);
