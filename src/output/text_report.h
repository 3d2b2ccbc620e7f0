/* SPDX-License-Identifier: Apache-2.0 */
/* The readable format: the hottest functions and the hottest stacks. */
#pragma once

#include <stdio.h>

#include "output/merge.h"

/*
 * Write the hottest functions and stacks, and a line that counts the stacks left out. *ret_shown
 * is the sum of both. Write errors stay in @to (ferror). Errors: -ENOMEM.
 */
FPL_MUST_CHECK int text_report_write(FILE *to, struct names *names, const struct merged *merged,
				     uint64_t *ret_shown, struct fpl_err *err);
