/* SPDX-License-Identifier: Apache-2.0 */
/* Output as of bcc's profile tool. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "recording/recording.h"

struct bcc_profile {
	bool folded, delimited, annotate, user_only, kernel_only;
	uint64_t hz;
	uint64_t period;   /* events; 0: it was given as hz */
	uint64_t seconds;  /* 0: until Ctrl-C */
	int cpu;	   /* -1: all */
	const pid_t *pids; /* borrowed [nr_pids], or else */
	size_t nr_pids;
	const pid_t *tids; /* borrowed [nr_tids]; none: all threads */
	size_t nr_tids;
};

/* Write the text before the first sample. Nothing when folded. */
void bcc_profile_head(FILE *to, const struct bcc_profile *options);

/*
 * Write the stacks, ascending by count, ties by text. Those of one process that read the same are
 * one.
 */
void bcc_profile_write(FILE *to, const struct bcc_profile *options,
		       const struct recording *recording);
