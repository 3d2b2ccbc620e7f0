/* SPDX-License-Identifier: Apache-2.0 */
/* The results of verifying one file: plain bytes, so that a worker process can hand them over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How the answers for one pc compare. X(name, is it a disagreement, text). Of a pc with several
 * differences the first of CFA, RA, REG, SIGNAL counts.
 */
/* clang-format off */
#define VERDICT_LIST(X) \
	X(AGREE,         false, "agree") \
	X(NONE,          false, "agree that no row is known") \
	X(GAP,           false, "in a gap of at most 15 bytes between FDEs that a row runs over") \
	X(SYNTH,         false, "rows synthesised for code without FDE: libdw has none") \
	X(GO,            false, "where stacks end or change in Go: not in its .debug_frame") \
	X(GO_REGS,       false, "Go: CFA and return address agree; .debug_frame omits rbp") \
	X(MENDED,        false, "CFI that the code refutes: the table is right") \
	X(EXPR,          false, "expression that ends walks by name in the table") \
	X(REFUSED,       false, "libdw refuses the FDE") \
	X(UNEVALUATED,   false, "expression the oracle cannot evaluate") \
	X(OUTSIDE,       false, "FDE outside executable segments: not in the table") \
	X(TERMINATED,    false, "FDE behind a terminator: libdw does not read it") \
	X(UNINDEXED,     false, "FDE that .eh_frame_hdr, and so libdw, does not find") \
	X(OVERLAP,       false, "overlapping FDEs: libdw takes another one, or none") \
	X(MISSING,       true,  "libdw has a rule, the table does not") \
	X(EXTRA,         true,  "the table has a rule, libdw does not") \
	X(CFA,           true,  "CFA differs") \
	X(RA,            true,  "return address differs") \
	X(REG,           true,  "a callee-saved register differs") \
	X(SIGNAL,        true,  "one side has a signal frame") \
	X(ROWS,          true,  "the table agrees, the exact row of tables --rows does not")
/* clang-format on */

#define X(name, bad, text) VERDICT_##name,
enum verdict { VERDICT_LIST(X) VERDICT_COUNT };
#undef X

bool verdict_is_bad(enum verdict verdict);
const char *verdict_text(enum verdict verdict);

enum report_status {
	REPORT_DONE,	/* judged */
	REPORT_NO_CFI,	/* nothing to judge: no fault of the file */
	REPORT_SKIPPED, /* no ELF64 program or library */
	REPORT_REFUSED, /* the table compiler refuses the file, for the reason in message */
	REPORT_FAILED,	/* could not be judged; message says why */
};

enum {
	REPORT_FIRST_MAX = 8,
	REPORT_TEXT_MAX = 400,
};

/* One disagreement, with both answers. */
struct report_difference {
	uint64_t vaddr;
	uint32_t verdict;
	uint32_t reg; /* of VERDICT_REG: its DWARF number */
	char table[REPORT_TEXT_MAX];
	char libdw[REPORT_TEXT_MAX];
};

struct report {
	uint32_t status; /* enum report_status */
	uint32_t nr_first;
	uint64_t nr[VERDICT_COUNT]; /* pcs by verdict */
	uint64_t pcs;		    /* their sum */
	uint64_t fdes, rows;
	uint64_t cpu_ns;
	char message[380];
	struct report_difference first[REPORT_FIRST_MAX];
};

/* How many pcs disagree. */
uint64_t report_disagreements(const struct report *report);

/* Add the counts of @from to @into; status, message and first differences stay. */
void report_add(struct report *into, const struct report *from);
