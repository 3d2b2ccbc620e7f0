/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a file shows that its CFI does not say, or says wrong. Rows are passed through
 * these facts on their way from the CFI to whoever asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

/* Registers that calls may change, but those to code of an FDE do not. */
struct kept_fact {
	uint32_t fde; /* index into cfi_list.fdes */
	uint16_t regs;
};

/* In [start, end) CFA = rsp + cfa_off, whatever the CFI says. */
struct mended_fact {
	uint64_t start, end; /* vaddr */
	int64_t cfa_off;
	/* The code is about to jump to a handler with the registers as they are: the word below the
	 * CFA is where it goes on, exactly. That follows no call. */
	bool is_raise;
};

struct code_facts {
	struct kept_fact *kept; /* owned [nr_kept], ascending by fde */
	size_t nr_kept, room_kept;
	struct mended_fact *mended; /* owned [nr_mended], ascending, disjoint */
	size_t nr_mended, room_mended;
};

void code_facts_fini(struct code_facts *facts);

/* Put in order what was added. */
void code_facts_sort(struct code_facts *facts);

/* The rows of FDE number @fde in [start, end), on their way to @fn. */
struct code_teller {
	const struct code_facts *facts; /* borrowed */
	uint16_t kept;
	size_t next; /* of facts->mended */
	cfi_row_fn fn;
	void *ctx;
};

/* False: there is nothing to tell of such rows. Cost: O(log facts). */
bool code_teller_init(struct code_teller *teller, const struct code_facts *facts, uint32_t fde,
		      uint64_t start, uint64_t end);

/* Pass @row on, with what is known of it: a cfi_row_fn whose context is a struct code_teller. */
int code_tell(const struct cfi_row *row, void *teller);
