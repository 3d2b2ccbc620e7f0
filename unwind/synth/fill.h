/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for the code of a file that its CFI leaves out. */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/* Likely CPU time for making rows for the code of @elf, whose CFI is @file. Reads nothing. */
uint64_t synth_likely_ns(const struct cfi_file *file, const struct elf_file *elf);

/*
 * Add to @file, the CFI of @elf, rows made from code without CFI, and rows without a CFA where such
 * code refutes the frame pointer. Code that costs more than the limits of @file allow, on
 * its own account, gets none; file->synth_refused says so then. With the limits' synth_later none
 * is made, and only what is around their synth_near where there are any: file->synth_left says what
 * the rest is likely to take. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int synth_fill(struct cfi_file *file, const struct elf_file *elf,
			      struct fpl_err *err);
