/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that the code of a file shows and its CFI omits or gets wrong. Rows pass through these
 * facts between the CFI and its reader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

/* Registers that calls may change, but calls of this FDE's code do not. */
struct kept_fact {
	uint32_t fde; /* index into cfi_list.fdes */
	uint16_t regs;
};

/* In [start, end) CFA = rsp + cfa_off, and registers that have their place below rsp are unchanged;
 * the CFI is wrong. */
struct mended_fact {
	uint64_t start, end; /* vaddr */
	int64_t cfa_off;
	/* The code is about to jump to an exception handler with the registers unchanged: the word
	 * below the CFA is the exact address where it goes on, and follows no call. */
	bool is_raise;
	/* Not 0: the code runs below the frame that the CFI describes. It is found by
	 * FPL_CFA_LUAJIT, with cfa_off as N and this as M. */
	int16_t frame_off;
};

struct code_facts {
	struct kept_fact *kept; /* owned [nr_kept], ascending by fde */
	size_t nr_kept, room_kept;
	struct mended_fact *mended; /* owned [nr_mended], ascending, disjoint */
	size_t nr_mended, room_mended;
};

void code_facts_fini(struct code_facts *facts);

/* Put in order what was added. Of mended facts that overlap, as in a file that is forged, the one
 * with the lowest start stays. */
void code_facts_sort(struct code_facts *facts);

/* Context for the rows of FDE number @fde in [start, end), on their way to @fn. */
struct code_teller {
	const struct code_facts *facts; /* borrowed */
	uint16_t kept;
	size_t next; /* of facts->mended */
	cfi_row_fn fn;
	void *ctx;
};

/* False: no facts for such rows. Cost: O(log facts). */
bool code_teller_init(struct code_teller *teller, const struct code_facts *facts, uint32_t fde,
		      uint64_t start, uint64_t end);

/*
 * Pass @row on, with the facts known about it: a cfi_row_fn whose context is a struct code_teller.
 */
int code_tell(const struct cfi_row *row, void *teller);
