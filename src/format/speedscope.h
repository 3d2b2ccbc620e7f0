/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's file format, https://www.speedscope.app/file-format-schema.json. fpless-formats(5).
 */
#pragma once

#include <stdio.h>

#include "view/format.h"

/*
 * Write a profile of all stacks, and one for each of the threads that ran most. As format_write_fn;
 * *ret_shown is the sum of the first.
 */
FPL_MUST_CHECK int speedscope_write(FILE *to, const struct recording *recording,
				    const struct format_options *options, uint64_t *ret_shown,
				    struct fpl_err *err);
