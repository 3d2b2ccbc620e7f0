/* SPDX-License-Identifier: Apache-2.0 */
/* The books of the threads' time in ns, for -v: what they waited is shown, or why it is not. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/* Write a line for each state that is sampled; nothing of runs that keep no such books. */
void time_books_write(FILE *to, const struct profile *profile);
