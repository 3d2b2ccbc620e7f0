/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a profile is code made at run time, and what is known of it. */
#pragma once

#include <stdint.h>

#include "profile/code_names.h"
#include "profile/profile.h"

struct code_tally {
	uint64_t frames; /* user frames in no object, once per sample */
	uint64_t named;	 /* of them, those the program has said the name of */
	/* Samples of stacks of which the first ran code that was replaced during the run: the later
	 * ones may have run what came after it, and are named as the first. */
	uint64_t uncertain;
	struct code_names_stats files;
};

/* Cost: O(log functions) per frame in no object. */
void code_tally_count(const struct profile *profile, struct code_tally *ret);
