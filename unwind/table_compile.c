/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table_compile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unwind/compact.h"
#include "unwind/fast.h"
#include "unwind/image.h"

/* A piece of the longest program the fast interpreter takes costs well under a millisecond. */
enum { CHECK_EVERY_PIECES = 1024 };

enum { PREFETCH_PROGRAM = 4, PREFETCH_FDE = 8 };

/* State of one compilation. */
struct compiler {
	struct cfi_file *file; /* borrowed */
	struct rule_set rules;
	struct image image;
	struct fast fast;
	struct table *table; /* borrowed */
	struct fpl_err *err;
};

static void cleanup_compiler(struct compiler *compiler)
{
	rule_set_fini(&compiler->rules);
	image_fini(&compiler->image);
	fast_fini(&compiler->fast);
}

/* Does the walk end with `expr` at this rule? */
static bool is_expr(const struct compact_rule *packed)
{
	return packed->rule.cfa == FPL_CFA_EXPR ||
	       (packed->ext[0].dst == CFI_RA && packed->ext[0].kind == FPL_EXT_EXPR);
}

static int add_row(const struct cfi_row *row, void *ctx)
{
	struct compiler *compiler = ctx;
	struct table_stats *stats = &compiler->table->stats;
	struct compact_rule packed;

	compact_pack(row, &packed);

	int slot = rule_set_add(&compiler->rules, (const struct fpl_rule *)(const void *)&packed,
				packed.nr_slots, compiler->err);

	if (slot < 0)
		return slot;
	if (row->cfa == FPL_CFA_NONE) {
		stats->judged_bytes += row->end - row->start;
		return image_add(&compiler->image, row->start, row->end, (uint32_t)slot,
				 compiler->err);
	}
	if (row->source == CFI_SOURCE_SYNTH)
		stats->synth_bytes += row->end - row->start;
	stats->rows_raw++;
	stats->rows_expr += is_expr(&packed);
	stats->covered_bytes += row->end - row->start;
	return image_add(&compiler->image, row->start, row->end, (uint32_t)slot, compiler->err);
}

/* Add the rows of a piece: by the fast interpreter as far as it gets, for a plain program; it does
 * not know facts from code. */
static int add_piece(struct compiler *compiler, struct cfi_piece piece)
{
	struct table_stats *stats = &compiler->table->stats;
	uint64_t end;
	int code;

	if (!(piece.fde & CFI_PIECE_MADE) && !cfi_file_knows_more(compiler->file, &piece)) {
		code = fast_run(&compiler->fast, &piece, &end, compiler->err);
		if (code || end == piece.end)
			return code;
		piece.start = end;
	}
	code = cfi_file_run(compiler->file, &piece, add_row, compiler, &end, compiler->err);
	if (code != CFA_BAD)
		return code;
	/* No rule for the rest, and no earlier row may continue over it. */
	stats->fdes_bad++;
	return image_add(&compiler->image, end, piece.end, 0, compiler->err);
}

/*
 * Linkers write FDEs by object file, not by address: the next one is anywhere in memory. Prefetch
 * the FDE some pieces ahead and the program of a nearer one, whose FDE has arrived by now.
 */
static inline void prefetch_piece(const struct cfi_file *file, size_t i)
{
	const struct cfi_list *list = &file->list;

	if (i + PREFETCH_FDE >= file->nr_pieces)
		return;

	uint32_t far = file->pieces[i + PREFETCH_FDE].fde;
	uint32_t near = file->pieces[i + PREFETCH_PROGRAM].fde;

	if ((far | near) & CFI_PIECE_MADE)
		return;

	const struct cfi_fde *fde = &list->fdes[near];
	const uint8_t *code = list->cies[fde->cie].section->bytes + fde->code_off;

	__builtin_prefetch(&list->fdes[far]);
	__builtin_prefetch(code);
	__builtin_prefetch(code + 64);
}

/*
 * No row continues behind synthesised rows, where sections end, nor behind a Go function, whose
 * table says where it ends.
 */
static int end_rule(struct compiler *compiler, size_t i)
{
	const struct cfi_file *file = compiler->file;
	const struct cfi_piece *piece = &file->pieces[i];

	if (i + 1 == file->nr_pieces)
		return 0;
	if ((piece->fde & CFI_PIECE_GO) && compiler->image.end < piece[1].start)
		return image_row(&compiler->image, compiler->image.end, 0, compiler->err);
	if (piece[1].start == piece->end || !((piece->fde | piece[1].fde) & CFI_PIECE_SYNTH))
		return 0;
	return image_row(&compiler->image, piece->end, 0, compiler->err);
}

static int add_pieces(struct compiler *compiler)
{
	struct cfi_file *file = compiler->file;
	struct budget *budget = &file->budget;
	uint64_t rows_before = 0;
	int code = 0;

	for (size_t i = 0; i < file->nr_pieces && code == 0; i++) {
		prefetch_piece(file, i);
		code = add_piece(compiler, file->pieces[i]);
		if (code == 0)
			code = end_rule(compiler, i);
		if (i % CHECK_EVERY_PIECES == 0 && code == 0) {
			budget->rows += compiler->fast.rows - rows_before;
			rows_before = compiler->fast.rows;
			code = budget_check(budget, compiler->err);
		}
	}
	compiler->table->stats.rows_raw += compiler->fast.rows;
	compiler->table->stats.covered_bytes += compiler->fast.covered_bytes;
	return code;
}

static void fill_stats(struct compiler *compiler)
{
	const struct cfi_file *file = compiler->file;
	struct table_stats *stats = &compiler->table->stats;

	stats->text_bytes = file->text_bytes;
	for (size_t i = 0; i < file->nr_sections; i++)
		stats->cfi_bytes += file->sections[i].size;
	stats->fdes = file->list.nr_fdes;
	stats->fdes_bad += file->list.nr_bad;
	stats->fdes_shadowed = file->nr_shadowed;
	stats->synth_refused = file->synth_refused;
	stats->synth_left = file->synth_left;
	stats->rows = compiler->image.nr_rows;
	stats->rules = compiler->rules.nr_rules;
	stats->rules_ext = compiler->rules.nr_ext;
	stats->image_bytes = compiler->table->image_bytes;
}

int table_compile_file(struct cfi_file *file, struct table **ret, struct fpl_err *err)
{
	CLEANUP(table_cleanup) struct table *table = calloc(1, sizeof(*table));
	CLEANUP(cleanup_compiler)
	struct compiler compiler = { .file = file, .table = table, .err = err };

	if (!table)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);

	int code = rule_set_init(&compiler.rules, file->budget.name, err);

	if (code == 0)
		code = image_init(&compiler.image, table, file->text[0].start,
				  file->text[file->nr_text - 1].end, &file->budget, err);
	if (code == 0)
		code = fast_init(&compiler.fast, file, &compiler.rules, &compiler.image, err);
	if (code == 0)
		code = add_pieces(&compiler);
	if (code == 0)
		code = image_finish(&compiler.image, &compiler.rules, err);
	if (code)
		return code;
	fill_stats(&compiler);
	*ret = TAKE_PTR(table);
	return 0;
}

int table_compile(const struct elf_file *elf, const struct elf_file *debug,
		  const struct table_limits *limits, struct table **ret, struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *file = NULL;
	int code = cfi_file_open(elf, debug, limits, &file, err);

	if (code == 0)
		code = table_compile_file(file, ret, err);
	if (code == 0)
		(*ret)->entry_vaddr = elf->entry;
	return code;
}
