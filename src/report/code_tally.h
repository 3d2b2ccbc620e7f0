/* SPDX-License-Identifier: Apache-2.0 */
/* The share of code made at run time in a profile, and how much of this code has names. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/code_names.h"
#include "profile/profile.h"

struct code_tally {
	uint64_t frames; /* user frames in no object, once per sample */
	uint64_t named;	 /* of them, those that a description of the program names */
	/* Samples whose code was replaced during the run: all samples of a stack have the name of
	 * the first, and the later ones may have run the new code. */
	uint64_t uncertain;
	struct code_names_stats files;
};

/* Cost: O(log functions) per frame in no object. */
void code_tally_count(const struct profile *profile, struct code_tally *ret);

/* One process of a profile. */
struct code_process {
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	uint32_t pid;
};

/*
 * The process with the most frames in no object that have no name. false: each has one. Cost: as
 * code_tally_count().
 */
bool code_tally_most_unnamed(const struct profile *profile, struct code_process *ret);
