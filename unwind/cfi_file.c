/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi_file.h"

#include <stdlib.h>

#include "unwind/go_rows.h"

void cfi_file_close(struct cfi_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->nr_sections && !file->borrowed; i++)
		free(file->sections[i].bytes);
	free(file->sections);
	free(file->text);
	code_facts_fini(&file->facts);
	free(file->synth_rows);
	go_functions_fini(&file->go);
	free(file->pieces);
	free(file->order);
	cfi_list_fini(&file->list);
	free(file);
}

int cfi_file_run(struct cfi_file *file, const struct cfi_piece *piece, cfi_row_fn fn, void *ctx,
		 uint64_t *ret_end, struct fpl_err *err)
{
	if (piece->fde & CFI_PIECE_SYNTH) {
		struct cfi_row row = file->synth_rows[piece->fde & ~CFI_PIECE_SYNTH];

		row.start = piece->start;
		row.end = piece->end;
		*ret_end = piece->end;
		return fn(&row, ctx);
	}

	if (piece->fde & CFI_PIECE_GO) {
		*ret_end = piece->end;
		return go_function_rows(&file->go, &file->go.list[piece->fde & ~CFI_PIECE_GO], fn,
					ctx, &file->budget.rows);
	}

	const struct cfi_fde *fde = &file->list.fdes[piece->fde];
	struct code_teller teller;

	if (code_teller_init(&teller, &file->facts, piece->fde, piece->start, piece->end)) {
		teller.fn = fn;
		teller.ctx = ctx;
		fn = code_tell;
		ctx = &teller;
	}
	return cfa_program_run(&file->machine, &file->list.cies[fde->cie], fde, piece->start,
			       piece->end, fn, ctx, ret_end, err);
}
