/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CFI of one file as a whole: read its sections, list their entries, resolve overlaps into
 * pieces of address space, each owned by one FDE.
 */
#pragma once

#include "unwind/cfa_program.h"
#include "unwind/code_facts.h"
#include "unwind/eh_frame.h"
#include "unwind/go_pclntab.h"

/* Half-open range of vaddr. */
struct cfi_range {
	uint64_t start, end;
};

/* [start, end) belongs to one FDE, to one synthesised row, or to one function of Go. */
struct cfi_piece {
	uint64_t start, end;
	/* index into list.fdes; with CFI_PIECE_SYNTH set: into synth_rows; with CFI_PIECE_GO: into
	 * go.list */
	uint32_t fde;
};
#define CFI_PIECE_SYNTH (1u << 31)
#define CFI_PIECE_GO	(1u << 30)
#define CFI_PIECE_MADE	(CFI_PIECE_SYNTH | CFI_PIECE_GO) /* any: it belongs to no FDE */

struct cfi_file {
	struct budget budget;
	struct cfi_range *text; /* owned [nr_text], ascending: executable PT_LOADs, merged */
	size_t nr_text;
	struct cfi_section *sections; /* owned [nr_sections]; the bytes too, unless borrowed */
	size_t nr_sections;
	bool borrowed;
	struct cfi_list list;
	uint32_t *order; /* owned [list.nr_fdes]: fdes by source and start */
	bool overlaps;	 /* FDEs overlap, or there is more than one source */
	struct go_functions go;
	struct code_facts facts;
	struct cfi_row *synth_rows; /* owned [nr_synth_rows] */
	size_t nr_synth_rows;
	bool synth_refused;	  /* code without CFI was over the limits: no rows made from it */
	uint64_t synth_left;	  /* likely time for rows left for later, at least in part, ns */
	struct cfi_piece *pieces; /* owned [nr_pieces], ascending, disjoint */
	size_t nr_pieces;
	uint64_t nr_shadowed; /* FDEs that own no piece */
	uint64_t text_bytes;
	struct cfa_machine machine;
};

/*
 * Read and list the CFI of @elf and @debug (may be NULL). @limits must outlive the result.
 * Errors: as table_compile().
 */
FPL_MUST_CHECK int cfi_file_open(const struct elf_file *elf, const struct elf_file *debug,
				 const struct table_limits *limits, struct cfi_file **ret,
				 struct fpl_err *err);
void cfi_file_close(struct cfi_file *file);

/* For CLEANUP(). */
static inline void cfi_file_cleanup(struct cfi_file **file)
{
	cfi_file_close(*file);
}

/*
 * The same for CFI bytes in memory: @sections [nr_sections] in order of their source, the bytes
 * stay the caller's; @text [nr_text] ascending ranges FDEs may lie in. It is the part of
 * cfi_file_open() after reading; tests, benches and fuzzing enter here, too.
 */
FPL_MUST_CHECK int cfi_file_from_sections(const char *name, const struct cfi_section *sections,
					  size_t nr_sections, const struct cfi_range *text,
					  size_t nr_text, const struct table_limits *limits,
					  struct cfi_file **ret, struct fpl_err *err);

/*
 * Hand the rows of @piece to @fn. Returns, as cfa_program_run(), enum cfa_outcome, a budget error,
 * or @fn's result.
 */
FPL_MUST_CHECK int cfi_file_run(struct cfi_file *file, const struct cfi_piece *piece, cfi_row_fn fn,
				void *ctx, uint64_t *ret_end, struct fpl_err *err);

/* Does the code add facts to the rows of @piece, which belongs to an FDE? */
static inline bool cfi_file_knows_more(const struct cfi_file *file, const struct cfi_piece *piece)
{
	struct code_teller teller;

	return (file->facts.nr_kept || file->facts.nr_mended) &&
	       code_teller_init(&teller, &file->facts, piece->fde, piece->start, piece->end);
}
