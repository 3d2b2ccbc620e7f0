/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs: what was on the stack, as boxes as wide as the samples they were there in. */
#pragma once

#include <stdio.h>

#include "view/format.h"

/*
 * Write the flame graph of @recording, as options->picture asks for it. *ret_shown is the sum of
 * the samples of all boxes, those left out for being narrow included, which the picture says.
 * Write errors stay in @to (ferror). Errors: flame_paths_add(); -EINVAL a chart without times.
 */
FPL_MUST_CHECK int svg_write(FILE *to, const struct recording *recording,
			     const struct format_options *options, uint64_t *ret_shown,
			     struct fpl_err *err);
