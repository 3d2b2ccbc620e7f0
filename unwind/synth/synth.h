/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows for code that has no CFI, made from the code itself: instructions are followed from
 * known beginnings of functions, with the value of each register and each word of the stack. A row
 * is made only where all paths agree and none of them ends in nonsense.
 *
 * Pure: bytes in, rows out. Hostile code costs its budget and yields fewer rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "unwind/budget.h"
#include "unwind/rows.h"
#include "unwind/synth/input.h"

/* @key: as in SYNTH_REASON_LIST; "row" of NONE. */
const char *synth_reason_key(enum synth_reason reason);
const char *synth_reason_text(enum synth_reason reason);

/* [start, end) has no row for that reason. */
struct synth_gap {
	uint64_t start, end;
	enum synth_reason reason;
	bool fp_refuted; /* rbp is proven not to be the function's frame pointer there */
};

struct synth_result {
	struct cfi_row *rows; /* owned [nr_rows], ascending, disjoint, equal neighbours joined */
	size_t nr_rows;
	struct synth_gap *gaps; /* owned [nr_gaps], ascending: parts of the holes without row */
	size_t nr_gaps;
	uint64_t hole_bytes, row_bytes, guess_bytes; /* guess_bytes: of row_bytes */
	uint64_t instructions;			     /* decoded */
	uint64_t label_probes; /* in searches for what was seen of a label, of entries that were
				  others' */
};

/*
 * Analyse. Errors: -EFBIG over a limit of @budget, -ENOMEM; synth_result_fini() is safe then. Cost:
 * linear for code of compilers and people; @budget bounds the rest.
 */
FPL_MUST_CHECK int synth_analyse(const struct synth_input *input, struct budget *budget,
				 struct synth_result *ret, struct fpl_err *err);
void synth_result_fini(struct synth_result *result);
