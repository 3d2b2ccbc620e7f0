/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for the code of a file that its CFI leaves out. */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/*
 * Add to @file, the CFI of @elf, rows made from code without CFI, and rows without a CFA for such
 * code that was understood but has none. Code that costs more than the limits of @file allow, on
 * its own account, gets none; file->synth_refused says so then. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int synth_fill(struct cfi_file *file, const struct elf_file *elf,
			      struct fpl_err *err);
