/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "diff/diff_write.h"

/* A line, by its texts and numbers. */
struct line {
	const struct sequence *stack;
	uint64_t before, after;
};

/* A double as whole number, those that have none as the nearest that has one. */
static uint64_t whole_number(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

static int compare_texts(const struct pairing *pairing, const struct sequence *a,
			 const struct sequence *b)
{
	int order = 0;

	for (uint32_t i = 0; !order && i < a->nr && i < b->nr; i++) {
		uint32_t left = pairing->stacks.ids.list[a->first + i],
			 right = pairing->stacks.ids.list[b->first + i];

		if (left != right)
			order = strcmp(pairing_text(pairing, pairing->items.list[left].text),
				       pairing_text(pairing, pairing->items.list[right].text));
	}
	return order ? order : (a->nr > b->nr) - (a->nr < b->nr);
}

/* As folded stacks: ascending by count, here those after first. */
static int compare_lines(const void *left, const void *right, void *pairing)
{
	const struct line *a = left, *b = right;

	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	if (a->before != b->before)
		return a->before < b->before ? -1 : 1;
	return compare_texts(pairing, a->stack, b->stack);
}

static void write_line(FILE *to, const struct pairing *pairing, const struct line *line)
{
	for (uint32_t i = 0; i < line->stack->nr; i++) {
		const struct shown_function *item =
			&pairing->items.list[pairing->stacks.ids.list[line->stack->first + i]];

		if (i)
			putc(';', to);
		fputs(pairing_text(pairing, item->text), to);
	}
	fprintf(to, " %" PRIu64 " %" PRIu64 "\n", line->before, line->after);
}

static uint64_t shown_of(const struct pairing *pairing, size_t stack, enum diff_side side)
{
	return measure_of(&pairing->measure, tallies_count(&pairing->samples, stack, side),
			  tallies_weight(&pairing->samples, stack, side));
}

void diff_folded_write(FILE *to, const struct pairing *pairing, bool normalize)
{
	const uint64_t sums[DIFF_SIDES] = {
		pairing_shown(pairing, &pairing->whole, DIFF_BEFORE),
		pairing_shown(pairing, &pairing->whole, DIFF_AFTER),
	};
	AUTO_FREE struct line *lines = must_calloc(pairing->stacks.nr, sizeof(*lines));

	for (size_t i = 0; i < pairing->stacks.nr; i++) {
		const struct sequence *stack = &pairing->stacks.list[i];
		struct line *line = &lines[i];

		*line = (struct line){ stack, shown_of(pairing, i, DIFF_BEFORE),
				       shown_of(pairing, i, DIFF_AFTER) };
		if (normalize && sums[DIFF_BEFORE] != sums[DIFF_AFTER])
			line->before =
				whole_number((double)line->before * (double)sums[DIFF_AFTER] /
					     (double)sums[DIFF_BEFORE]);
	}
	qsort_r(lines, pairing->stacks.nr, sizeof(*lines), compare_lines,
		(void *)(uintptr_t)pairing);
	for (size_t i = 0; i < pairing->stacks.nr; i++)
		write_line(to, pairing, &lines[i]);
}
