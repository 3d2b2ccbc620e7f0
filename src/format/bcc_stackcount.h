/* SPDX-License-Identifier: Apache-2.0 */
/* Output as of bcc's stackcount tool. */
#pragma once

#include <stdio.h>

#include "format/bcc.h"
#include "recording/recording.h"

/* Write the text before the first sample. Nothing when folded. */
void bcc_stackcount_head(FILE *to, const struct bcc_output *options);

/*
 * Write the stacks, ascending by number, ties by text. @time: of the clock on the wall, to be
 * written first; NULL: not. Those that read the same are one: of one process, and of all where
 * they are of the kernel alone and not per_process.
 */
void bcc_stackcount_write(FILE *to, const struct bcc_output *options, const char *time,
			  const struct recording *recording);
