/* SPDX-License-Identifier: Apache-2.0 */
/* The exact rows of a Go function (decision 0012). */
#pragma once

#include "unwind/go_pclntab.h"
#include "unwind/rows.h"

/*
 * Hand the rows of @function to @fn, in order. If its table is malformed, there are rows up to that
 * point. @nr_rows is raised by their number. Returns 0 or @fn's result. Cost: linear in the code of
 * the function.
 */
FPL_MUST_CHECK int go_function_rows(const struct go_functions *functions,
				    const struct go_function *function, cfi_row_fn fn, void *ctx,
				    uint64_t *nr_rows);
