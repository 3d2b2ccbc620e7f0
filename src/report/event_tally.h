/* SPDX-License-Identifier: Apache-2.0 */
/* The fate of single samples (--timeline, --stream), for the closing report. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/* Write a line for the timeline and for the stream if it was requested and samples are missing;
 * @all: also if none are missing. */
void event_tally_write(FILE *to, const struct profile *profile, bool all);
