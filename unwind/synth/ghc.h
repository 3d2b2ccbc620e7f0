/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Haskell code as GHC 9.0 compiles it (by its own code generator, without profiling). It has no
 * FDE, leaves rsp where StgRun of the run time has put it, and keeps its own stack in rbp:
 *
 *	sub rsp, 48; mov rax, rsp; sub rsp, 16384; mov [rax], rbx; ...; jmp rax		StgRun
 *	add rbp, -8; mov [rbp+8], rbx; ...; jmp StgReturn		stg_stop_thread
 *
 * StgRun has an FDE, which says where the frame and the registers are from there on. The words
 * before stg_stop_thread say which number the type of the last frame of a Haskell stack has:
 * versions that number types of frames otherwise are refused by it.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/*
 * Give the code of @elf that has no FDE, and returns as Haskell code does, a row of
 * FPL_CFA_HASKELL. FDEs that GHC itself has written (-g) own nothing then: they are wrong in 9.0.
 * A file without StgRun, or where the code is of another form, is left alone.
 *
 * Errors: -ENOMEM, -EFBIG over the budget of @file. Cost: one search of .eh_frame; with StgRun one
 * look at all code without FDE.
 */
FPL_MUST_CHECK int synth_fill_haskell(struct cfi_file *file, const struct elf_file *elf,
				      struct fpl_err *err);
