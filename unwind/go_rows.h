/* SPDX-License-Identifier: Apache-2.0 */
/* The exact rows of a Go function (decision 0012). */
#pragma once

#include "unwind/go_pclntab.h"
#include "unwind/rows.h"

/*
 * Hand the rows of @function to @fn, in order. Where its table ends by making no sense there are
 * rows up to there. @nr_rows is raised by how many. Returns 0 or what @fn returned. Cost: linear in
 * the code of the function.
 */
FPL_MUST_CHECK int go_function_rows(const struct go_functions *functions,
				    const struct go_function *function, cfi_row_fn fn, void *ctx,
				    uint64_t *nr_rows);
