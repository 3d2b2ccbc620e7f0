/* SPDX-License-Identifier: Apache-2.0 */
/* Completions of verbs, options and their values, for a shell, made from the tables of options. */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* Errors: -ENOMEM. The caller checks @to for write errors. */
FPL_MUST_CHECK int completion_bash(FILE *to);
FPL_MUST_CHECK int completion_fish(FILE *to);
FPL_MUST_CHECK int completion_zsh(FILE *to);
