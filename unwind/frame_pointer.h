/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does code keep a frame pointer, according to its CFI? If rbp points to the frame, the row has the
 * CFA at rbp + 16 (x86-64 psABI 1.0, section 3.2.2).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "unwind/rows.h"

/* One pc, and the answer of the rows. */
struct frame_question {
	uint64_t vaddr;	     /* lookup pc */
	uint64_t start, end; /* its function, [start, end); empty: unknown, the pc stands for it */
	bool known;	     /* the pc has a row */
	bool here, anywhere; /* a row that has the CFA by rbp: at the pc, in the function */
};

/*
 * Answer @questions [@nr], ascending, so that their functions ascend as well, from the rows of @elf
 * and
 * @debug, its separate debug file (may be NULL). Errors: as cfi_rows_for_each(); answers given by
 * then stay. Cost: the rows are decoded once.
 */
FPL_MUST_CHECK int frame_pointer_ask(const struct elf_file *elf, const struct elf_file *debug,
				     struct frame_question *questions, size_t nr,
				     struct fpl_err *err);
