/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that a callee leaves alone although the ABI lets it change them. Assembly of ciphers
 * keeps its frame on such a register over calls to helpers of its own; the CFI of the helper does
 * not mention the register, so the frame above it would be lost.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/*
 * Add to @file->facts.kept, unsorted. A row that names a register which calls may change, at a call
 * whose target is known, says that the register is right when the call returns. If neither the FDE
 * of the target nor any code that it calls or jumps to writes the register, it stays unchanged.
 *
 * Code that cannot be read or understood keeps nothing, without error. Errors: -ENOMEM, -EFBIG over
 * the budget of @file. Cost: one look at the programs of all FDEs; besides, where such rows are, a
 * decode of the functions that have them and of what these call, 1 MiB of code at most.
 */
FPL_MUST_CHECK int synth_find_kept(struct cfi_file *file, const struct elf_file *elf,
				   struct fpl_err *err);
