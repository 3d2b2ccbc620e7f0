/* SPDX-License-Identifier: Apache-2.0 */
/* The part of table_compile() behind the reading of the file: for tests, benches and fuzzing. */
#pragma once

#include "unwind/cfi_file.h"
#include "unwind/table.h"

/* Compile the CFI listed in @file; only one table can be made from it. Errors: as table_compile().
 */
FPL_MUST_CHECK int table_compile_file(struct cfi_file *file, struct table **ret,
				      struct fpl_err *err);
