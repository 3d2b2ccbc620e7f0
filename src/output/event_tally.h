/* SPDX-License-Identifier: Apache-2.0 */
/* What became of single samples: of the closing report. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/* Write a line for each that was asked for and was not whole; @all: for each that was asked for. */
void event_tally_write(FILE *to, const struct profile *profile, bool all);
