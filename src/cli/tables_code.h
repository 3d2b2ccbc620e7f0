/* SPDX-License-Identifier: Apache-2.0 */
/* Print facts of `fpless tables` about code itself: rows made from it, and its CFI beside them. */
#pragma once

#include "base/err.h"
#include "obj/elf_file.h"
#include "unwind/synth/file.h"

/*
 * Print the rows made for the code of @elf that has no CFI, and why the rest of it has none.
 * @debug (may be NULL): its separate debug file. Errors: those of audit_file().
 */
FPL_MUST_CHECK int print_made_rows(const struct elf_file *elf, const struct elf_file *debug,
				   struct fpl_err *err);

/* Print where the code of @elf that has CFI contradicts it. @scope, errors: those of audit_file().
 */
FPL_MUST_CHECK int print_audit(const struct elf_file *elf, const struct elf_file *debug,
			       enum synth_scope scope, struct fpl_err *err);
