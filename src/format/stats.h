/* SPDX-License-Identifier: Apache-2.0 */
/* --stats: one JSON object with the closing numbers. */
#pragma once

#include <stdio.h>

#include "recording/recording.h"

/* @shown: what a writer returned. Write errors stay in @to (ferror). */
void stats_write(FILE *to, const struct recording *recording, uint64_t shown);
