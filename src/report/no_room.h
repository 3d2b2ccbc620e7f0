/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of shared limits by user, and the option that gives more. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

/* Write a line for each of the three users whom limits cost most, and one for all others; nothing
 * if no limit was reached. */
void no_room_write(FILE *to, const struct profile *profile);

/* The key of @limit in --stats. */
const char *no_room_key(enum profile_limit limit);
