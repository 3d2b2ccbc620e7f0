/* SPDX-License-Identifier: Apache-2.0 */
/* The readable format: the hottest functions and the hottest stacks. */
#pragma once

#include <stdio.h>

#include "view/format.h"

/*
 * Write the hottest functions and stacks, and a line that counts the stacks left out. As
 * format_write_fn; *ret_shown is the sum of both.
 */
FPL_MUST_CHECK int text_report_write(FILE *to, const struct recording *recording,
				     const struct format_options *options, uint64_t *ret_shown,
				     struct fpl_err *err);
