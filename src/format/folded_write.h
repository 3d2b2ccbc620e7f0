/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: `comm;root;...;leaf COUNT`, what flame graph tools read. */
#pragma once

#include <stdio.h>

#include "view/format.h"
#include "view/merge.h"

/*
 * format_write_fn: every stack, ascending by count, ties by text; equal lines are one. Does not
 * fail.
 */
int folded_write(FILE *to, const struct recording *recording, const struct format_options *options,
		 uint64_t *ret_shown, struct fpl_err *err);

/* The same with the user frames of @walk. */
void folded_write_walk(FILE *to, const struct recording *recording, enum merge_walk walk,
		       const struct format_options *options, uint64_t *ret_shown);
