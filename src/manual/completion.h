/* SPDX-License-Identifier: Apache-2.0 */
/* Completions of verbs, options and their values, for a shell, out of the tables of options. */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* Errors: -ENOMEM. What could not be written @to is the caller's to ask of it. */
FPL_MUST_CHECK int completion_bash(FILE *to);
FPL_MUST_CHECK int completion_fish(FILE *to);
FPL_MUST_CHECK int completion_zsh(FILE *to);
