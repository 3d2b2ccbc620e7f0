/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: a meta line, one line per distinct stack, a books line. docs/formats.md. */
#pragma once

#include <stdio.h>

#include "output/culprits.h"
#include "output/names.h"

/*
 * Write the whole profile, @culprits (may be NULL) into its books; *ret_shown is the sum of the
 * counts written. Write errors stay in @to (ferror). Errors: -ENOMEM.
 */
FPL_MUST_CHECK int jsonl_write(FILE *to, struct names *names, const struct culprits *culprits,
			       uint64_t *ret_shown, struct fpl_err *err);
