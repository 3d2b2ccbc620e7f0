/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs behind the end of OCaml's functions, which call the garbage collector and go back:
 *
 *	      jb stub
 *	back: ...
 *	stub: call caml_call_gc
 *	      jmp back
 *
 * ocamlopt writes no CFI for them, so the rows of the function's end are in force there, with
 * another depth of the stack where the allocation was inside of a try.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/*
 * Add to @file->facts.mended, unsorted, the stubs whose CFA is not that of where they come from and
 * go back to: neither the branch nor the jump moves the stack pointer. Only in files that name
 * caml_call_gc are such stubs looked for.
 *
 * Code that cannot be read has none: that is no error. Errors: -ENOMEM, -EFBIG over the budget of
 * @file. Cost: one search of the names of dynamic symbols; in OCaml's files one look at all code.
 */
FPL_MUST_CHECK int synth_find_stubs(struct cfi_file *file, const struct elf_file *elf,
				    struct fpl_err *err);
