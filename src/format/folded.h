/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: `comm;root;...;leaf COUNT`, what flame graph tools read. */
#pragma once

#include <stdio.h>

#include "view/format.h"
#include "view/merge.h"

/*
 * Write every stack, ascending by count, ties by text; equal lines are one. *ret_shown is the sum
 * of the counts written. Write errors stay in @to (ferror). Errors: -ENOMEM.
 */
FPL_MUST_CHECK int folded_write(FILE *to, const struct recording *recording,
				const struct format_options *options, uint64_t *ret_shown,
				struct fpl_err *err);

/* The same with the user frames of @walk. */
FPL_MUST_CHECK int folded_write_walk(FILE *to, const struct recording *recording,
				     enum merge_walk walk, const struct format_options *options,
				     uint64_t *ret_shown, struct fpl_err *err);
