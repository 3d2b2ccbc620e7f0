/* SPDX-License-Identifier: Apache-2.0 */
/* How full the BPF maps of a run were: of the closing report. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/*
 * Write a line for each map that had no room for something or was more than nine tenths full, with
 * the option that gives it more; @all: for every map.
 */
void map_levels_write(FILE *to, const struct profile *profile, bool all);
