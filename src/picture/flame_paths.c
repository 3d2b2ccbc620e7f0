/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/flame_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/hex.h"
#include "view/labels.h"

void flame_paths_init(struct flame_paths *ret)
{
	*ret = (struct flame_paths){ 0 };
	strings_init(&ret->strings);
	must_strings_intern(&ret->strings, "");
}

void flame_paths_fini(struct flame_paths *paths)
{
	strings_fini(&paths->strings);
	vector_fini(&paths->cells);
	vector_fini(&paths->steps);
	vector_fini(paths);
	id_table_fini(&paths->cell_ids);
}

/* A recording on its way in. */
struct adding {
	struct flame_paths *paths;
	struct frame_texts *texts;
	const struct flame_paths_options *options;
	uint32_t *cells;   /* owned: of each entry of texts->ids */
	uint32_t *objects; /* owned: text of each object of the recording */
	uint32_t separator;
	/* the label looked up last, and its cell */
	uint32_t label, label_cell;
	bool has_label;
};

static void adding_fini(struct adding *adding)
{
	free(adding->cells);
	free(adding->objects);
}

static uint32_t intern_cell(struct adding *adding, const char *text, struct flame_cell key)
{
	struct flame_paths *paths = adding->paths;
	const struct flame_cell *cells = paths->cells.list;

	key.text = adding->options->strip_hex ? hex_strip_intern(&paths->strings, text)
					      : must_strings_intern(&paths->strings, text);

	const uint32_t parts[] = { key.text, key.object, key.kind, key.origin };
	uint64_t hash = id_table_hash(0, parts, sizeof(parts));
	uint32_t found =
		ID_TABLE_FIND(&paths->cell_ids, hash, i,
			      cells[i].text == key.text && cells[i].object == key.object &&
				      cells[i].kind == key.kind && cells[i].origin == key.origin);

	if (found != ID_TABLE_NONE)
		return found;
	must_id_table_add(&paths->cell_ids, hash, (uint32_t)paths->cells.nr);
	must_push(&paths->cells, key);
	return (uint32_t)paths->cells.nr - 1;
}

static uint32_t intern_label(struct adding *adding, const char *text)
{
	return intern_cell(
		adding, text,
		(struct flame_cell){ .kind = FLAME_LABEL, .origin = RECORDING_NO_ORIGIN });
}

static uint32_t intern_place(struct adding *adding, const struct recording_frame *frame)
{
	char buf[256];

	return frame_place_intern(&adding->paths->strings,
				  frame_place(adding->texts->recording, frame, buf, sizeof(buf)));
}

/* The cells of frame @idx and of what is inlined in it. */
static void add_frame(struct adding *adding, uint32_t idx)
{
	const struct frame_texts *texts = adding->texts;
	const struct recording_frame *frame = &texts->recording->frames[idx];
	bool kernel = frame->kind == RECORDING_KERNEL;
	struct flame_cell key = {
		.object = adding->options->places	? intern_place(adding, frame)
			  : adding->options->no_objects ? 0
							: adding->objects[frame->object],
		.origin = kernel ? RECORDING_NO_ORIGIN : frame->origin,
	};
	size_t nr;
	const uint32_t *ids = frame_texts_of(texts, idx, &nr);
	uint32_t *to = &adding->cells[ids - texts->ids];

	for (size_t i = 0; i < nr; i++) {
		key.kind = kernel ? FLAME_KERNEL : i + 1 < nr ? FLAME_INLINED : FLAME_USER;
		to[i] = intern_cell(adding, strings_text(&texts->strings, ids[i]), key);
	}
}

static void add_cells(struct adding *adding)
{
	const struct recording *recording = adding->texts->recording;

	adding->cells =
		must_calloc(recording->nr_lines + recording->nr_frames, sizeof(*adding->cells));
	adding->objects = must_calloc(recording->nr_objects, sizeof(*adding->objects));
	for (size_t i = 0; i < recording->nr_objects; i++)
		adding->objects[i] = must_strings_intern(
			&adding->paths->strings,
			recording_string(recording, recording->objects[i].path));
	for (size_t i = 0; i < recording->nr_frames; i++)
		add_frame(adding, (uint32_t)i);
	adding->separator = intern_label(adding, "-");
}

/* One step more, unless the path is as long as any may be. */
static void put(struct adding *adding, struct flame_path *path, uint32_t cell)
{
	if (path->nr < FLAME_STEPS_MAX)
		adding->paths->steps.list[path->first + path->nr] = cell;
	path->nr++; /* beyond, too: put_path() sees it */
}

/* Labels of a few texts follow each other in most recordings. */
static void put_labels(struct adding *adding, const struct recording_stack *stack,
		       struct flame_path *path)
{
	uint32_t labels[LABELS_MAX], nr;

	if (adding->options->no_labels)
		return;
	nr = labels_intern(adding->texts, stack, labels);
	for (uint32_t i = 0; i < nr; i++) {
		if (!adding->has_label || adding->label != labels[i])
			adding->label_cell = intern_label(
				adding, strings_text(&adding->texts->strings, labels[i]));
		adding->has_label = true;
		adding->label = labels[i];
		put(adding, path, adding->label_cell);
	}
}

/* Frames @frames [nr], leaf first, from the root to the leaf. */
static void put_frames(struct adding *adding, struct flame_path *path, const uint32_t *frames,
		       size_t nr)
{
	for (size_t i = nr; i-- > 0 && path->nr <= FLAME_STEPS_MAX;) {
		size_t nr_texts;
		const uint32_t *ids = frame_texts_of(adding->texts, frames[i], &nr_texts);
		const uint32_t *cells = &adding->cells[ids - adding->texts->ids];

		while (nr_texts-- > 0)
			put(adding, path, cells[nr_texts]);
	}
}

static size_t steps_max(const struct flame_paths_options *options)
{
	return options->steps_max ? options->steps_max : FLAME_PATHS_STEPS_MAX;
}

static void reverse(uint32_t *steps, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		uint32_t step = steps[i];

		steps[i] = steps[nr - 1 - i];
		steps[nr - 1 - i] = step;
	}
}

/* Errors: -E2BIG. */
static int put_path(struct adding *adding, size_t idx, unsigned side)
{
	const struct recording *recording = adding->texts->recording;
	const struct recording_stack *stack = &recording->stacks[idx];
	const uint32_t *user = &recording->frame_ids[stack->first_frame];
	const uint32_t *kernel = user + stack->nr_user;
	bool other = adding->options->walk == MERGE_FP;
	size_t nr_user = other ? stack->nr_fp : stack->nr_user;
	struct flame_paths *paths = adding->paths;
	struct flame_path path = {
		.count = stack->count,
		.first = paths->steps.nr,
		.stack = (uint32_t)idx,
		.elided = other ? 0 : stack->elided,
		.side = (uint8_t)side,
	};

	if (paths->steps.nr > steps_max(adding->options))
		return -E2BIG;
	must_reserve(&paths->steps, paths->steps.nr + FLAME_STEPS_MAX);
	put_labels(adding, stack, &path);
	put_frames(adding, &path, other ? kernel + stack->nr_kernel : user, nr_user);
	if (adding->options->delimited && nr_user && stack->nr_kernel)
		put(adding, &path, adding->separator);
	put_frames(adding, &path, kernel, stack->nr_kernel);
	if (path.nr > FLAME_STEPS_MAX) {
		path.nr = FLAME_STEPS_MAX;
		paths->cut[side] += path.count;
	}
	if (adding->options->reverse)
		reverse(&paths->steps.list[path.first], path.nr);
	must_push(paths, path);
	paths->steps.nr += path.nr;
	paths->samples[side] += path.count;
	return 0;
}

int flame_paths_add(struct flame_paths *paths, const struct recording *recording,
		    const struct flame_paths_options *options, unsigned side, struct fpl_err *err)
{
	CLEANUP(frame_texts_fini) struct frame_texts texts = { 0 };
	CLEANUP(adding_fini)
	struct adding adding = { .paths = paths, .texts = &texts, .options = options };
	int error = 0;

	frame_texts_init(recording, &options->text, &texts);
	add_cells(&adding);
	for (size_t i = 0; !error && i < recording->nr_stacks; i++)
		error = put_path(&adding, i, side);
	if (error == -E2BIG)
		return fpl_fail(err, error,
				"stacks of more than %zu frames in all: too many to draw",
				steps_max(options));
	return 0;
}
