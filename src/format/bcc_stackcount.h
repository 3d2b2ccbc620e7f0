/* SPDX-License-Identifier: Apache-2.0 */
/* Output as of bcc's stackcount tool. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "recording/recording.h"

struct bcc_stackcount {
	bool folded, delimited, user_only, kernel_only;
	bool per_process;    /* stacks of the kernel alone, too, are told apart by process */
	bool one_process;    /* it was named: no stack names it again */
	const char *pattern; /* as it was typed; borrowed */
};

/* Write the text before the first sample. Nothing when folded. */
void bcc_stackcount_head(FILE *to, const struct bcc_stackcount *options);

/*
 * Write the stacks, ascending by number, ties by text. @time: of the clock on the wall, to be
 * written first; NULL: not. Those that read the same are one: of one process, and of all where
 * they are of the kernel alone and not per_process.
 */
void bcc_stackcount_write(FILE *to, const struct bcc_stackcount *options, const char *time,
			  const struct recording *recording);
