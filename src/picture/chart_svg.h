/* SPDX-License-Identifier: Apache-2.0 */
/* Flame charts: what was on the stack of each thread, in the order of time. */
#pragma once

#include <stdio.h>

#include "view/format.h"

/*
 * Write the flame chart of @recording, which has to hold the times of its samples. A sample stands
 * for the time before it that it weighs; frames of neighbours that read the same are one box.
 * *ret_shown is the sum of all samples, those included that the picture says it leaves out. Errors:
 * -EINVAL: there are no times; those of flame_paths_add().
 */
FPL_MUST_CHECK int chart_svg_write(FILE *to, const struct recording *recording,
				   const struct format_options *options, uint64_t *ret_shown,
				   struct fpl_err *err);
