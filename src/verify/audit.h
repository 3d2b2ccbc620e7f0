/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run the analyser of code without CFI (unwind/synth) on code that has CFI: where the two disagree,
 * one of them is wrong. It finds defects here and in vendors' CFI.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/rows.h"
#include "unwind/synth/file.h"

/* Adjacent instructions on which CFI and analysis differ. */
struct audit_place {
	uint64_t start, end; /* vaddr */
	struct cfi_row cfi, made;
};

#define AUDIT_PLACES_MAX 4096u

struct audit {
	uint64_t instructions; /* reached */
	uint64_t rows;	       /* instructions with a row: agree + wrong + unjudged + without_cfi */
	uint64_t agree, wrong;
	uint64_t unjudged;    /* the CFI names a value that the analysis does not know there */
	uint64_t without_cfi; /* where no FDE is */
	uint64_t by_reason[SYNTH_REASON_COUNT];
	uint64_t hole_bytes, row_bytes, guess_bytes;
	uint64_t cpu_ns;	    /* of the analysis, entries included */
	struct audit_place *places; /* owned [nr_places]: in the order of discovery */
	size_t nr_places, room_places;
	uint64_t places_left_out; /* instructions, beyond AUDIT_PLACES_MAX places */
};

/*
 * Audit @elf; @debug (may be NULL): its separate debug file. @scope: SYNTH_ALL, or SYNTH_HIDDEN for
 * one FDE in ten, with the others known. Errors: as cfi_file_open() and synth_analyse();
 * audit_fini() is safe then.
 */
FPL_MUST_CHECK int audit_file(const struct elf_file *elf, const struct elf_file *debug,
			      enum synth_scope scope, const struct table_limits *limits,
			      struct audit *ret, struct fpl_err *err);
void audit_fini(struct audit *audit);
