/* SPDX-License-Identifier: Apache-2.0 */
/* The closing report: how good the profile is, and the books. For stderr. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/* @shown: what a writer returned. */
void report_write(FILE *to, const struct profile *profile, uint64_t shown);
