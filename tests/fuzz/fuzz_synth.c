/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code as hostile bytes: three bytes that say where functions begin, then a hole. Judged: rows and
 * gaps cover each byte of the hole once, in order, and no row names what a table could not hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/synth/synth.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 0x401000, NR_ENTRIES = 3 };

static bool read_hole(void *ctx, uint64_t vaddr, void *to, size_t size)
{
	const struct synth_hole *hole = ctx;

	if (size > hole->size || vaddr < hole->start || vaddr - hole->start > hole->size - size)
		return false;
	memcpy(to, hole->bytes + (vaddr - hole->start), size);
	return true;
}

/* Addresses count from the beginning of the hole. */
static bool read_word(void *ctx, uint64_t vaddr, uint64_t *ret)
{
	if (!read_hole(ctx, vaddr, ret, sizeof(*ret)))
		return false;
	*ret += TEXT;
	return true;
}

static void judge(const struct synth_result *result, size_t size)
{
	size_t row = 0, gap = 0;
	uint64_t at = TEXT;

	while (row < result->nr_rows || gap < result->nr_gaps) {
		if (row < result->nr_rows && result->rows[row].start == at) {
			const struct cfi_row *made = &result->rows[row++];

			REQUIRE(made->end > at);
			REQUIRE(made->cfa == FPL_CFA_REG || made->cfa == FPL_CFA_DEREF);
			REQUIRE(made->cfa_reg < FPL_NR_REGS && made->source == CFI_SOURCE_SYNTH);
			at = made->end;
		} else {
			REQUIRE(gap < result->nr_gaps && result->gaps[gap].start == at);
			REQUIRE(result->gaps[gap].end > at);
			REQUIRE(result->gaps[gap].reason != SYNTH_REASON_NONE);
			at = result->gaps[gap++].end;
		}
	}
	REQUIRE(at == TEXT + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct synth_entry entries[NR_ENTRIES];
	struct synth_hole hole = { .start = TEXT };
	struct synth_result result;
	struct budget budget;
	struct fpl_err err;

	if (size <= NR_ENTRIES || size > 1 << 16)
		return 0;
	hole.size = size - NR_ENTRIES;
	hole.bytes = data + NR_ENTRIES;
	for (size_t i = 0; i < NR_ENTRIES; i++)
		entries[i] = (struct synth_entry){ TEXT + data[i] / 8, data[i] % 6 };

	struct synth_input input = {
		.holes = &hole,
		.nr_holes = 1,
		.entries = entries,
		.nr_entries = NR_ENTRIES,
		.guesses = data[0] & 1,
		.read = read_hole,
		.word = read_word,
		.ctx = &hole,
	};

	budget_init(&budget, "fuzz", &table_limits_default);
	REQUIRE(synth_analyse(&input, &budget, &result, &err) == 0);
	judge(&result, hole.size);
	synth_result_fini(&result);
	return 0;
}
