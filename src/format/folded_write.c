/* SPDX-License-Identifier: Apache-2.0 */
#include "format/folded_write.h"

#include <inttypes.h>

#include "base/cleanup.h"

static void write_lines(FILE *to, const struct merged *merged)
{
	AUTO_FREE uint32_t *order = merged_order(merged);

	for (size_t i = 0; i < merged->stacks.nr; i++) {
		const uint32_t *ids = sequence_ids(&merged->lines, order[i]);

		for (uint32_t j = 0; j < merged->lines.list[order[i]].nr; j++) {
			if (j)
				putc_unlocked(';', to);
			fputs_unlocked(strings_text(merged->strings, ids[j]), to);
		}
		fprintf(to, " %" PRIu64 "\n", merged->stacks.list[order[i]].shown);
	}
}

void folded_write_walk(FILE *to, const struct recording *recording, enum merge_walk walk,
		       const struct format_options *options, uint64_t *ret_shown)
{
	const struct frame_text_options text_options = {
		.annotate = options->annotate,
		.origin = options->origin,
		.addresses = options->addresses,
		.symbols_only = options->inlined != FORMAT_INLINED_ALWAYS,
		.lines = options->lines,
		.fold_recursion = options->fold_recursion,
	};
	CLEANUP(frame_texts_fini) struct frame_texts texts;
	CLEANUP(merged_fini) struct merged merged = { 0 };

	frame_texts_init(recording, &text_options, &texts);
	merge_stacks(&texts, walk, options->delimited, &merged);
	write_lines(to, &merged);
	*ret_shown = merged_sum(&merged);
}

int folded_write(FILE *to, const struct recording *recording, const struct format_options *options,
		 uint64_t *ret_shown, struct fpl_err *err)
{
	(void)err;
	folded_write_walk(to, recording, MERGE_CFI, options, ret_shown);
	return 0;
}
