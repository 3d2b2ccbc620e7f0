/* SPDX-License-Identifier: Apache-2.0 */
/* The closing report about a run: the quality of its profile, its cost, and the books. For stderr.
 */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/* @shown: the samples that a writer wrote. */
void run_report_write(FILE *to, const struct profile *profile, uint64_t shown);
