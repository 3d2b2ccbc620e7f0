/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one ELF file without CFI, and the beginnings of functions in it, from symbols,
 * relocations and the covered code.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/cfi_file.h"
#include "unwind/synth/synth.h"

/* With synth_near, rows are made up to this far on both sides of a vaddr. */
#define SYNTH_NEAR_BYTES 16384u

/* Below this many bytes without FDE, skip the search of all code for branches into them: most files
 * have only the 192 bytes that crtstuff.c brings, and some alignment. */
#define SYNTH_SEARCH_MIN 256u

/* Which code counts as without CFI. */
enum synth_scope {
	SYNTH_HOLES,  /* what really is */
	SYNTH_HIDDEN, /* that, and one FDE in ten: to measure the analysis */
	SYNTH_ALL, /* all: each FDE is a hole of its own, entered where its row is CFA = rsp + 8 */
};

struct synth_file;

/*
 * Read the code of @elf, whose CFI is @cfi; both and @budget outlive the result. @symbols (may be
 * NULL): a file with symbols for the same code. Errors: -ENOMEM, -EFBIG, those of pread(2). Cost:
 * one look at each byte of the code, one decode of functions that may lead into a hole.
 */
FPL_MUST_CHECK int synth_file_open(const struct elf_file *elf, const struct elf_file *symbols,
				   struct cfi_file *cfi, enum synth_scope scope,
				   struct budget *budget, struct synth_file **ret,
				   struct fpl_err *err);
void synth_file_close(struct synth_file *file);

/* For CLEANUP(). */
static inline void synth_file_cleanup(struct synth_file **file)
{
	synth_file_close(*file);
}

typedef void synth_visit_fn(void *ctx, uint64_t vaddr, unsigned size,
			    const struct synth_state *state, enum synth_reason reason);

/* As synth_analyse(). @visit may be NULL. */
FPL_MUST_CHECK int synth_file_analyse(struct synth_file *file, synth_visit_fn *visit, void *ctx,
				      struct synth_result *ret, struct fpl_err *err);

/* Make rows for code recognised by its instructions (arch_known_rows()), at most @cap. Returns
 * their number. */
size_t synth_file_known(const struct synth_file *file, struct cfi_row *rows, size_t cap);

/*
 * The row of the CFI at @vaddr, valid until the next call; NULL: no row. Cost: decoding one FDE if
 * it is not the previous one.
 */
const struct cfi_row *synth_file_cfi(struct synth_file *file, uint64_t vaddr);
