/* SPDX-License-Identifier: Apache-2.0 */
/* How full the BPF maps of a run were: of the closing report and --stats. */
#pragma once

#include <stdio.h>

#include "output/json.h"
#include "profile/profile.h"

/* Write the member "maps" into the object that is open: every map. */
void map_levels_write_json(struct json *json, const struct profile *profile);

/*
 * Write a line for each map that had no room for something or was more than nine tenths full, with
 * the option that gives it more; @all: for every map.
 */
void map_levels_write(FILE *to, const struct profile *profile, bool all);
