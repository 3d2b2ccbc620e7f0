/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { RADIX_LOG2 = 11, RADIX = 1 << RADIX_LOG2 };

/* A growing array of pieces. */
struct piece_list {
	struct cfi_piece *items; /* owned */
	size_t nr, cap;
};

static void cleanup_piece_list(struct piece_list *list)
{
	free(list->items);
}

static int piece_list_reserve(struct piece_list *list, size_t cap, struct budget *budget,
			      struct fpl_err *err)
{
	return budget_reserve(budget, &list->items, &list->cap, cap, sizeof(*list->items), err);
}

/* Append unless empty; join it to the piece before if both belong to the same FDE. */
static int piece_list_add(struct piece_list *list, struct cfi_piece piece, struct budget *budget,
			  struct fpl_err *err)
{
	if (piece.start >= piece.end)
		return 0;

	struct cfi_piece *last = list->nr ? &list->items[list->nr - 1] : NULL;

	if (last && last->fde == piece.fde && last->end == piece.start) {
		last->end = piece.end;
		return 0;
	}

	int code =
		budget_grow(budget, &list->items, &list->cap, list->nr, sizeof(*list->items), err);

	if (!code)
		list->items[list->nr++] = piece;
	return code;
}

struct sort_item {
	uint32_t key; /* start, counted from the lowest */
	uint32_t idx;
};

/* One pass of a stable radix sort, by the RADIX_LOG2 bits from @shift up. */
static void radix_pass(const struct sort_item *from, struct sort_item *to, size_t nr,
		       unsigned shift)
{
	size_t at[RADIX] = { 0 };
	size_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		at[from[i].key >> shift & (RADIX - 1)]++;
	for (size_t i = 0; i < RADIX; i++) {
		size_t count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < nr; i++)
		to[at[from[i].key >> shift & (RADIX - 1)]++] = from[i];
}

static bool is_ascending(const struct cfi_fde *fdes, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (fdes[i - 1].start >= fdes[i].start)
			return false;
	return true;
}

int pieces_sort_fdes(struct cfi_file *file, size_t first, size_t last, struct fpl_err *err)
{
	size_t nr = last - first;
	struct budget *budget = &file->budget;

	if (nr == 0) /* the array may not be there */
		return 0;

	const struct cfi_fde *fdes = &file->list.fdes[first];
	size_t room = first;
	int code = budget_reserve(budget, &file->order, &room, last, sizeof(*file->order), err);
	uint32_t *order;

	if (code)
		return code;
	order = file->order + first;
	if (is_ascending(fdes, nr)) {
		for (size_t i = 0; i < nr; i++)
			order[i] = (uint32_t)(first + i);
		return 0;
	}

	uint64_t bytes = 2 * nr * sizeof(struct sort_item);

	code = budget_memory(budget, bytes, err);
	if (code)
		return code;

	AUTO_FREE struct sort_item *items = malloc(bytes);

	if (!items)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);

	/* Last first: the sort is stable, so equal starts end up in reverse order of the section.
	 */
	for (size_t i = 0; i < nr; i++)
		items[nr - 1 - i] = (struct sort_item){
			.key = (uint32_t)(fdes[i].start - file->text[0].start),
			.idx = (uint32_t)(first + i),
		};
	radix_pass(items, items + nr, nr, 0);
	radix_pass(items + nr, items, nr, RADIX_LOG2);
	radix_pass(items, items + nr, nr, 2 * RADIX_LOG2);
	for (size_t i = 0; i < nr; i++)
		order[i] = items[nr + i].idx;
	budget->memory_bytes -= bytes;
	return 0;
}

/*
 * Sweep over the FDEs by start. @open is a stack of the indices of open FDEs; the topmost owns the
 * addresses from `at` on.
 */
static int sweep(const struct cfi_file *file, size_t first, size_t last, uint32_t *open,
		 struct piece_list *list, struct budget *budget, struct fpl_err *err)
{
	const struct cfi_fde *fdes = file->list.fdes;
	const uint32_t *order = file->order;
	size_t nr_open = 0;
	uint64_t at = 0;
	int code = 0;

	for (size_t i = first; i <= last && code == 0; i++) {
		uint64_t until = i < last ? fdes[order[i]].start : UINT64_MAX;

		while (nr_open > 0 && at < until && code == 0) {
			uint32_t top = open[nr_open - 1];
			uint64_t end = fdes[top].end < until ? fdes[top].end : until;

			code = piece_list_add(list, (struct cfi_piece){ at, end, top }, budget,
					      err);
			if (end > at)
				at = end;
			if (fdes[top].end > until)
				break;
			nr_open--;
		}
		at = until;
		if (i < last)
			open[nr_open++] = order[i];
	}
	return code;
}

/*
 * Make the pieces of FDEs that do not overlap, as linkers write them. Returns 1, with an empty
 * list, if they overlap.
 */
static int cut_disjoint(const struct cfi_file *file, size_t first, size_t last,
			struct piece_list *list, struct budget *budget, struct fpl_err *err)
{
	int code = piece_list_reserve(list, last - first, budget, err);
	uint64_t at = 0;

	for (size_t i = first; i < last && code == 0; i++) {
		const struct cfi_fde *fde = &file->list.fdes[file->order[i]];

		if (fde->start < at) {
			list->nr = 0;
			return 1;
		}
		at = fde->end;
		list->items[list->nr++] =
			(struct cfi_piece){ fde->start, fde->end, file->order[i] };
	}
	return code;
}

/* Put the pieces @low into the gaps between the pieces @high; the result replaces the file's. */
static int overlay(struct cfi_file *file, const struct cfi_piece *low, size_t nr_low,
		   struct fpl_err *err)
{
	CLEANUP(cleanup_piece_list) struct piece_list list = { 0 };
	const struct cfi_piece *high = file->pieces;
	size_t nr_high = file->nr_pieces;
	size_t h = 0;
	/* High pieces cut few low ones in two; if they cut many, the list grows. */
	int code = piece_list_reserve(&list, nr_high + nr_low + 16, &file->budget, err);

	for (size_t l = 0; l < nr_low && code == 0; l++) {
		uint64_t at = low[l].start;

		/* The high piece before may reach into this low one. */
		if (h > 0 && high[h - 1].end > at)
			at = high[h - 1].end;
		/*
		 * High pieces that begin before this low one ends; the gaps between them belong to
		 * it.
		 */
		for (; h < nr_high && high[h].start < low[l].end && code == 0; h++) {
			code = piece_list_add(&list,
					      (struct cfi_piece){ at, high[h].start, low[l].fde },
					      &file->budget, err);
			if (code == 0)
				code = piece_list_add(&list, high[h], &file->budget, err);
			if (high[h].end > at)
				at = high[h].end;
		}
		if (code == 0)
			code = piece_list_add(&list,
					      (struct cfi_piece){ at, low[l].end, low[l].fde },
					      &file->budget, err);
	}
	for (; h < nr_high && code == 0; h++)
		code = piece_list_add(&list, high[h], &file->budget, err);
	if (code)
		return code;
	free(file->pieces);
	file->pieces = TAKE_PTR(list.items);
	file->nr_pieces = list.nr;
	return 0;
}

int pieces_add(struct cfi_file *file, const struct cfi_piece *pieces, size_t nr,
	       struct fpl_err *err)
{
	return nr == 0 ? 0 : overlay(file, pieces, nr, err);
}

int pieces_add_fdes(struct cfi_file *file, size_t first, size_t last, struct fpl_err *err)
{
	CLEANUP(cleanup_piece_list) struct piece_list list = { 0 };
	struct budget *budget = &file->budget;
	int code;

	if (first == last)
		return 0;
	code = cut_disjoint(file, first, last, &list, budget, err);
	if (code > 0) {
		AUTO_FREE uint32_t *open = calloc(last - first, sizeof(*open));

		file->overlaps = true;

		if (!open)
			return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);
		code = sweep(file, first, last, open, &list, budget, err);
	}
	if (code)
		return code;
	if (file->nr_pieces > 0) {
		file->overlaps = true;
		return overlay(file, list.items, list.nr, err);
	}
	free(file->pieces);
	file->pieces = TAKE_PTR(list.items);
	file->nr_pieces = list.nr;
	return 0;
}

int pieces_room_for_rows(struct cfi_file *file, size_t nr, struct fpl_err *err)
{
	size_t room = file->nr_synth_rows;

	return budget_reserve(&file->budget, &file->synth_rows, &room, room + nr,
			      sizeof(*file->synth_rows), err);
}

static int by_start(const void *a, const void *b)
{
	uint64_t start_a = ((const struct cfi_piece *)a)->start;
	uint64_t start_b = ((const struct cfi_piece *)b)->start;

	return start_a < start_b ? -1 : start_a > start_b;
}

int pieces_place_rows(struct cfi_file *file, size_t first, struct fpl_err *err)
{
	size_t nr_rows = file->nr_synth_rows - first, nr = 0;
	uint64_t at = 0;

	if (nr_rows == 0)
		return 0;

	int code = budget_memory(&file->budget, nr_rows * sizeof(struct cfi_piece), err);

	if (code)
		return code;

	AUTO_FREE struct cfi_piece *pieces = calloc(nr_rows, sizeof(*pieces));

	if (!pieces)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	for (size_t i = 0; i < nr_rows; i++)
		pieces[i] = (struct cfi_piece){ file->synth_rows[first + i].start,
						file->synth_rows[first + i].end,
						(uint32_t)(first + i) | CFI_PIECE_SYNTH };
	qsort(pieces, nr_rows, sizeof(*pieces), by_start);
	for (size_t i = 0; i < nr_rows; i++) {
		struct cfi_piece piece = pieces[i];

		if (piece.start < at)
			piece.start = at;
		if (piece.start >= piece.end)
			continue;
		at = piece.end;
		pieces[nr++] = piece;
	}
	return pieces_add(file, pieces, nr, err);
}

int pieces_add_rows(struct cfi_file *file, const struct cfi_row *rows, size_t nr,
		    struct fpl_err *err)
{
	size_t first = file->nr_synth_rows;
	int code = nr ? pieces_room_for_rows(file, nr, err) : 0;

	if (code || nr == 0)
		return code;
	memcpy(file->synth_rows + first, rows, nr * sizeof(*rows));
	file->nr_synth_rows += nr;
	return pieces_place_rows(file, first, err);
}
