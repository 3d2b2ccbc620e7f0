/* SPDX-License-Identifier: Apache-2.0 */
/* A finished profile as a recording with names, numbers and, where there are two walks of each
 * stack, their classes. */
#pragma once

#include "naming/recorded.h"

/* As recorded_make(), with all that a run knows once it is over. Errors: -ENOMEM. */
FPL_MUST_CHECK int finished_make(struct names *names, struct recording *ret, struct fpl_err *err);
