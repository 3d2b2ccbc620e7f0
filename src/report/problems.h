/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a run that made its profile worse: a line each, with the option that helps. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"
#include "report/tally.h"

/* Least share of the samples that is worth a line, in per cent. */
#define WORTH_A_LINE 1.0

/* @all: also how full every map was, and what was printed or kept in time. */
void problems_write(FILE *to, const struct profile *profile, const struct tally *tally, bool all);
