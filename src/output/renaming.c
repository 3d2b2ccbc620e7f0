/* SPDX-License-Identifier: Apache-2.0 */
#include "output/renaming.h"

#include <errno.h>

#include "output/names.h"
#include "recording/merge.h"

struct renamer {
	struct symbolizer *symbolizer;
	struct renaming *counts;
};

/* Can its file be asked? */
static bool is_askable(const struct renamer *renamer, const struct recording *from,
		       const struct recording_frame *frame)
{
	return frame->kind == RECORDING_USER && frame->object &&
	       frame->address != RECORDING_NO_ADDRESS && !from->objects[frame->object].offsets &&
	       symbolizer_fd(renamer->symbolizer, frame->object) >= 0;
}

static int add_line(struct recording *to, const struct symbol_line *line,
		    struct recording_line *ret)
{
	struct recording_function function = { .start_line = line->start_line };
	int err = recording_add_text(to, line->name, &function.name);

	if (!err)
		err = recording_add_text(to, line->file, &function.file);
	*ret = (struct recording_line){ .line = line->line, .column = line->column };
	return err ? err : recording_add_function(to, &function, &ret->function);
}

/* As of a frame of a profile, by its object's file. Returns 1 where that knows it, else 0. */
static int rename_frame(void *ctx, const struct recording *from, struct recording *to,
			struct recording_frame *frame, struct recording_line *lines)
{
	const struct renamer *renamer = ctx;
	struct symbol_line found[SYMBOL_LINES_MAX];
	struct symbol symbol = { 0 };
	uint64_t lookup;
	size_t nr;
	int err = 0;

	if (!is_askable(renamer, from, frame))
		return 0;
	lookup = frame_lookup_pc(frame->address, frame->exact);
	symbolizer_user(renamer->symbolizer, frame->object, lookup, &symbol);
	if (!symbol.name || !*symbol.name) {
		renamer->counts->kept++;
		return 0;
	}
	frame->start = lookup - symbol.offset;
	frame->nr_lines = 0;
	nr = symbolizer_lines(renamer->symbolizer, frame->object, lookup, found);
	for (size_t i = 0; !err && i < nr; i++) {
		/* what is inlined and has no name is a part of what it is inlined in */
		if (found[i].name)
			err = add_line(to, &found[i], &lines[frame->nr_lines++]);
	}
	if (!err && !frame->nr_lines) {
		const struct symbol_line plain = { .name = symbol.name };

		err = add_line(to, &plain, lines);
		frame->nr_lines = 1;
	}
	renamer->counts->frames++;
	return err ? err : 1;
}

int renaming_make(const struct recording *from, struct symbolizer *symbolizer, struct recording *to,
		  struct renaming *ret)
{
	struct renamer renamer = { .symbolizer = symbolizer, .counts = ret };
	const struct merge_filter filter = { .ctx = &renamer, .rename = rename_frame };
	struct merge_result result = { 0 };

	*ret = (struct renaming){ 0 };
	for (size_t i = 0; i < from->nr_frames; i++) {
		const struct recording_frame *frame = &from->frames[i];

		if (is_askable(&renamer, from, frame))
			symbolizer_expect(symbolizer, frame->object,
					  frame_lookup_pc(frame->address, frame->exact));
	}
	return recording_merge(to, from, &filter, &result);
}
