/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assembly of LuaJIT's interpreter (GC64, System V ABI, since 2.1). One FDE says that all of it
 * has the frame in which it executes bytecode: CFA = rsp + 80. The code shows the places where that
 * is wrong:
 *
 *	push rbp; push rbx; push r15; push r14; sub rsp, 40	the entries, and back
 *	sub rsp, 16; mov [rsp+16], r12; mov [rsp+8], r13; jmp rax	into a trace
 *	push r13; push r12; ...; mov rsp, rcx	out of a trace, from any depth below the frame
 *	math functions, and lj_vm_next	which traces call, with nothing but a return address
 *
 * The way out finds the frame again by what LuaJIT knows of it, so its instructions say how:
 * FPL_CFA_LUAJIT. Traces have the same rule.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/*
 * Add those places to @file->facts.mended, unsorted. Only files that name a symbol luaJIT_... are
 * searched. Places of another form are left alone.
 *
 * Errors and cost: as synth_functions_for_each().
 */
FPL_MUST_CHECK int synth_mend_luajit(struct cfi_file *file, const struct elf_file *elf,
				     struct fpl_err *err);
