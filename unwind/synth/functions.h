/* SPDX-License-Identifier: Apache-2.0 */
/* The code of functions that have CFI, for those who look in it for places where that is wrong.
 * Private to unwind/synth. */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"

/* The code [@size] of the function that @fde describes. Returns 0, or what ends the search. */
typedef int (*synth_function_fn)(void *ctx, const struct cfi_fde *fde, const uint8_t *code,
				 uint64_t size, struct fpl_err *err);

/* The name of a symbol, or @text as its beginning, among others: for @name and @name_size below. */
#define SYNTH_NAME(text)       "\0" text, sizeof("\0" text)
#define SYNTH_NAME_BEGIN(text) "\0" text, sizeof(text)

/*
 * Hand the functions of @elf, whose CFI is @file, to @fn if the file names @name [@name_size], as
 * its own or an imported symbol. A function that owns only a part of its range is left out.
 *
 * Unreadable code has none, without error. Errors: -ENOMEM, -EFBIG over the budget of @file, and
 * those of @fn. Cost: one search of the names of dynamic symbols; with the name one look at all
 * code.
 */
FPL_MUST_CHECK int synth_functions_for_each(struct cfi_file *file, const struct elf_file *elf,
					    const char *name, size_t name_size,
					    synth_function_fn fn, void *ctx, struct fpl_err *err);

/* Add @fact to @file->facts.mended, unsorted. Errors: -ENOMEM. */
FPL_MUST_CHECK int synth_mend(struct cfi_file *file, const struct mended_fact *fact,
			      struct fpl_err *err);
