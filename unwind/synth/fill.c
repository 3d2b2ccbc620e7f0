/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/fill.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/pieces.h"
#include "unwind/synth/file.h"

/*
 * Is a frame-pointer step wrong in @gap? Only a fact about the frame pointer at that place tells: a
 * function without rows may keep one, as V8's builtins do, whose returns are not understood. A
 * guess that failed proves nothing.
 */
static bool is_judged(const struct synth_gap *gap)
{
	return gap->fp_refuted &&
	       (gap->reason == SYNTH_REASON_NO_CFA || gap->reason == SYNTH_REASON_BAD_END ||
		gap->reason == SYNTH_REASON_OVERLAP);
}

static int add_judged(struct cfi_file *file, const struct synth_result *result, struct fpl_err *err)
{
	AUTO_FREE struct cfi_row *rows = calloc(result->nr_gaps + 1, sizeof(*rows));
	size_t nr = 0;

	if (!rows)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	for (size_t i = 0; i < result->nr_gaps; i++) {
		const struct synth_gap *gap = &result->gaps[i];

		if (!is_judged(gap))
			continue;
		rows[nr++] = (struct cfi_row){ .start = gap->start,
					       .end = gap->end,
					       .cfa = FPL_CFA_NONE,
					       .source = CFI_SOURCE_SYNTH };
	}
	return pieces_add_rows(file, rows, nr, err);
}

/* Measured on the libraries of Debian 12: reading all code, looking through it for what leads into
 * holes, and following what is in holes. */
#define READ_PS_PER_BYTE   400u
#define SEARCH_PS_PER_BYTE 900u
#define FOLLOW_PS_PER_BYTE 48000u
#define KNOWN_MAX	   16u
#define PADDING_MAX	   63u		/* most functions are aligned to 64 bytes at most */
#define CODE_BYTES_MAX	   (1ull << 40) /* more is as much: sparse files */

/* Size of the executable sections or, without any, of the executable segments. */
static uint64_t code_bytes(const struct elf_file *elf)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if ((section->flags & SHF_EXECINSTR) && section->type == SHT_PROGBITS)
			bytes += section->size < CODE_BYTES_MAX ? section->size : CODE_BYTES_MAX;
	}
	for (size_t i = 0; i < elf->nr_segments && !elf->nr_sections; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X))
			bytes += segment->file_size < CODE_BYTES_MAX ? segment->file_size
								     : CODE_BYTES_MAX;
	}
	return bytes < CODE_BYTES_MAX ? bytes : CODE_BYTES_MAX;
}

uint64_t synth_likely_ns(const struct cfi_file *file, const struct elf_file *elf)
{
	uint64_t code = code_bytes(elf), known = 0, cost = READ_PS_PER_BYTE, holes;

	for (size_t i = 0; i < file->nr_pieces; i++) {
		const struct cfi_piece *piece = &file->pieces[i];
		uint64_t before = i ? piece->start - file->pieces[i - 1].end : 0;

		known += piece->end - piece->start + (before <= PADDING_MAX ? before : 0);
	}
	holes = known < code ? code - known : 0;
	if (holes >= SYNTH_SEARCH_MIN)
		cost += SEARCH_PS_PER_BYTE;
	return (code * cost + holes * FOLLOW_PS_PER_BYTE) / 1000;
}

/* Findings about the code that @file has no rows for. */
struct findings {
	struct cfi_row known[KNOWN_MAX]; /* by their instructions: these come first */
	size_t nr_known;
	struct synth_result result;
};

static int analyse(struct cfi_file *file, const struct elf_file *elf, struct budget *budget,
		   struct findings *ret, struct fpl_err *err)
{
	CLEANUP(synth_file_cleanup) struct synth_file *code_file = NULL;
	int code = synth_file_open(elf, NULL, file, SYNTH_HOLES, budget, &code_file, err);

	if (code)
		return code;
	ret->nr_known = synth_file_known(code_file, ret->known, KNOWN_MAX);
	return synth_file_analyse(code_file, NULL, NULL, &ret->result, err);
}

/*
 * Add the rows near some vaddrs: at the edges of the part analysed, ways that lead in may be
 * unknown. Code without row is not judged before all is known.
 */
static int add_near(struct cfi_file *file, struct synth_result *result, struct fpl_err *err)
{
	const struct table_limits *limits = file->budget.limits;
	size_t nr = 0;

	for (size_t i = 0, near = 0; i < result->nr_rows; i++) {
		const struct cfi_row *row = &result->rows[i];

		while (near < limits->nr_synth_near &&
		       limits->synth_near[near] + SYNTH_NEAR_BYTES < row->start)
			near++;
		if (near < limits->nr_synth_near &&
		    (row->end >= limits->synth_near[near] ||
		     limits->synth_near[near] - row->end < SYNTH_NEAR_BYTES))
			result->rows[nr++] = *row;
	}
	return pieces_add_rows(file, result->rows, nr, err);
}

static int add_all(struct cfi_file *file, const struct synth_result *result, struct fpl_err *err)
{
	int code = pieces_add_rows(file, result->rows, result->nr_rows, err);

	return code ? code : add_judged(file, result, err);
}

int synth_fill(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	struct findings found = { .nr_known = 0 };
	const struct table_limits *limits = file->budget.limits;
	uint64_t likely_ns = synth_likely_ns(file, elf);
	struct budget budget;

	if (limits->nr_synth_near || limits->synth_later)
		file->synth_left = likely_ns ? likely_ns : 1;
	if (file->synth_left && !limits->nr_synth_near)
		return 0;
	if (!limits->nr_synth_near && likely_ns > limits->cpu_ns) {
		file->synth_refused = true; /* without spending that first */
		return 0;
	}
	budget_init(&budget, file->budget.name, limits);

	int code = analyse(file, elf, &budget, &found, err);

	/* The time taken here is not charged to the CFI. */
	file->budget.start_ns += budget_spent_ns(&budget);
	if (code == 0)
		code = pieces_add_rows(file, found.known, found.nr_known, err);
	if (code == 0)
		code = limits->nr_synth_near ? add_near(file, &found.result, err)
					     : add_all(file, &found.result, err);
	synth_result_fini(&found.result);
	if (code == 0 || code == -ENOMEM)
		return code;
	file->synth_refused = true;
	return 0;
}
