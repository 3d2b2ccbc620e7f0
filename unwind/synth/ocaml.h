/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two places in OCaml's code where the CFI is wrong and the code shows what is right.
 *
 * Stubs behind the end of a function call the garbage collector and go back:
 *
 *	      jb stub
 *	back: ...
 *	stub: call caml_call_gc
 *	      jmp back
 *
 * ocamlopt writes no CFI for them, so the rows of the function's end are in force there, with
 * another depth of the stack where the allocation was inside of a try.
 *
 * An exception is raised by cutting the stack at the innermost handler, whose two words are the
 * handler before it and the address to go on at:
 *
 *	mov D(%r14),%rsp
 *	pop D(%r14)
 *	ret			or: mov E(%r14),%r15; ret	or: pop %r11; jmp *%r11
 *
 * The CFI still describes the stack that was left.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/*
 * Add to @file->facts.mended, unsorted: the stubs whose CFA differs from that of the code around
 * the branch to them, although neither the branch nor the jump back moves the stack pointer; and
 * the instructions behind the one that cuts the stack, up to the last one with the handler's
 * address still on it. Only files that name caml_call_gc are searched.
 *
 * Unreadable code has none, without error. Errors: -ENOMEM, -EFBIG over the budget of @file. Cost:
 * one search of the names of dynamic symbols; in OCaml's files one look at all code.
 */
FPL_MUST_CHECK int synth_mend_ocaml(struct cfi_file *file, const struct elf_file *elf,
				    struct fpl_err *err);
