/* SPDX-License-Identifier: Apache-2.0 */
/* The use of the BPF maps of a run, for the closing report. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/*
 * Write a line for each map that refused an entry or was more than nine tenths full, with the
 * option that makes it larger; @all: for every map.
 */
void map_levels_write(FILE *to, const struct profile *profile, bool all);
