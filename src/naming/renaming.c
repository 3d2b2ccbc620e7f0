/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/renaming.h"

#include <errno.h>

#include "naming/names.h"
#include "recording/merge.h"

struct renamer {
	struct namer *namer;
	const struct renaming_object *objects;
	struct renaming *counts;
};

/* Find the vaddr to ask the frame's object for. False: it has no vaddr. */
static bool lookup_vaddr(const struct renamer *renamer, const struct recording *from,
			 const struct recording_frame *frame, uint64_t *ret)
{
	if (frame->kind != RECORDING_USER || !frame->object ||
	    frame->address == RECORDING_NO_ADDRESS)
		return false;
	*ret = frame_lookup_pc(frame->address, frame->exact);
	return !from->objects[frame->object].offsets ||
	       code_segments_vaddr(&renamer->objects[frame->object].segments, *ret, ret);
}

/* From where it is in the file to where it is in the program headers. */
static void place(const struct renamer *renamer, const struct recording *from,
		  struct recording_frame *frame, uint64_t vaddr)
{
	uint64_t shift = vaddr - frame_lookup_pc(frame->address, frame->exact);

	if (!from->objects[frame->object].offsets)
		return;
	frame->address += shift;
	if (frame->start != RECORDING_NO_ADDRESS)
		frame->start += shift;
	frame->object = renamer->objects[frame->object].placed;
	renamer->counts->placed++;
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
	struct symbol symbol;
	uint32_t object = frame->object;
	uint64_t lookup;
	size_t nr;
	int err = 0;

	if (!lookup_vaddr(renamer, from, frame, &lookup))
		return 0;
	place(renamer, from, frame, lookup);
	if (!namer_has_file(renamer->namer, object))
		return 0;
	namer_user(renamer->namer, object, lookup, &symbol);
	if (!symbol.name) {
		renamer->counts->kept++;
		return 0;
	}
	frame->start = symbol.start;
	frame->nr_lines = 0;
	nr = namer_lines(renamer->namer, object, lookup, found);
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

int renaming_place(struct recording *recording, struct renaming_object *objects)
{
	size_t nr = recording->nr_objects;
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		const struct code_segments *segments = &objects[i].segments;
		struct recording_object key = recording->objects[i];

		if (!key.offsets || !segments->nr)
			continue;
		key.offsets = 0;
		key.file_bias = segments->list[0].off - segments->list[0].vaddr;
		err = recording_add_object(recording, &key, &objects[i].placed);
	}
	return err;
}

int renaming_make(const struct recording *from, struct namer *namer,
		  const struct renaming_object *objects, struct recording *to, struct renaming *ret)
{
	struct renamer renamer = { .namer = namer, .objects = objects, .counts = ret };
	const struct merge_filter filter = { .ctx = &renamer, .rename = rename_frame };
	struct merge_result result = { 0 };

	for (size_t i = 0; i < from->nr_frames; i++) {
		const struct recording_frame *frame = &from->frames[i];
		uint64_t lookup;

		if (lookup_vaddr(&renamer, from, frame, &lookup) &&
		    namer_has_file(namer, frame->object))
			namer_expect(namer, frame->object, lookup);
	}
	return recording_merge(to, from, &filter, &result);
}
