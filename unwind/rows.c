/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rows.h"

#include "base/cleanup.h"
#include "unwind/cfi_file.h"

int cfi_rows_for_each(const struct elf_file *elf, const struct elf_file *debug,
		      const struct table_limits *limits, cfi_row_fn fn, void *ctx,
		      struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *file = NULL;
	int code = cfi_file_open(elf, debug, limits, &file, err);

	for (size_t i = 0; code == 0 && i < file->nr_pieces; i++) {
		uint64_t end;

		code = cfi_file_run(file, &file->pieces[i], fn, ctx, &end, err);
		if (code == CFA_BAD)
			code = 0; /* the rows before the bad instruction were handed over */
	}
	return code;
}

int cfi_fdes_for_each(const struct elf_file *elf, const struct elf_file *debug,
		      const struct table_limits *limits, cfi_fde_fn fn, void *ctx,
		      struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *file = NULL;
	struct table_limits fdes_alone = *limits;
	int code;

	/* rows from code add none, and cost a hundred times as much */
	fdes_alone.synth = false;
	code = cfi_file_open(elf, debug, &fdes_alone, &file, err);
	for (size_t i = 0; code == 0 && i < file->list.nr_fdes; i++) {
		const struct cfi_fde *fde = &file->list.fdes[file->order[i]];
		const struct cfi_fde_info info = {
			.start = fde->start,
			.end = fde->end,
			.off = fde->off,
			.source = file->list.cies[fde->cie].section->source,
		};

		code = fn(&info, ctx);
	}
	for (size_t i = 0; code == 0 && i < file->go.nr; i++) {
		const struct cfi_fde_info info = {
			.start = file->go.list[i].start,
			.end = file->go.list[i].end,
			.source = CFI_SOURCE_GO,
		};

		code = fn(&info, ctx);
	}
	return code;
}
