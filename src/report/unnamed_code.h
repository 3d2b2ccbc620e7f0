/* SPDX-License-Identifier: Apache-2.0 */
/* The line about code made at run time without a name: what names it, now or in the next run. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"
#include "report/tally.h"

/* Nothing where such code is too little for a line. Cost: as code_tally_count(). */
void unnamed_code_write(FILE *to, const struct profile *profile, const struct tally *tally);
