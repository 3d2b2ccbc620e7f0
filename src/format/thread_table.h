/* SPDX-License-Identifier: Apache-2.0 */
/* How long each thread of a recording was on a CPU, waited for one, and was blocked: exactly. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "recording/recording.h"

/* Is it all that the recording has? No samples were asked for, then. */
bool thread_table_is_all(const struct recording *recording);

/* Write it to @to, the first @nr of them; nothing where @recording does not have it. Cost:
 * O(threads
 * * numbers). */
void thread_table_write(FILE *to, const struct recording *recording, size_t nr);
