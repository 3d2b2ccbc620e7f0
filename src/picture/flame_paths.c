/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/flame_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/hex.h"
#include "view/labels.h"
#include "view/measure.h"

void flame_paths_init(struct flame_paths *ret)
{
	*ret = (struct flame_paths){ 0 };
	strings_init(&ret->strings);
	must_strings_intern(&ret->strings, "");
}

void flame_paths_fini(struct flame_paths *paths)
{
	strings_fini(&paths->strings);
	functions_fini(&paths->cells);
	vector_fini(&paths->steps);
	vector_fini(paths);
}

/* A recording on its way in. */
struct adding {
	struct flame_paths *paths;
	struct frame_texts *texts;
	const struct flame_paths_options *options;
	struct measure measure;
	uint32_t *cells;   /* owned: the cell of each slot of the texts */
	uint32_t *objects; /* owned: text of each object of the recording */
	uint32_t separator;
	struct stack_slots steps; /* of the path at hand */
	/* the label looked up last, and its cell */
	uint32_t label, label_cell;
	bool has_label;
};

static void adding_fini(struct adding *adding)
{
	free(adding->cells);
	free(adding->objects);
	vector_fini(&adding->steps);
}

static uint32_t intern_cell(struct adding *adding, const char *text, struct shown_function key)
{
	struct strings *strings = &adding->paths->strings;

	key.text = adding->options->strip_hex ? hex_strip_intern(strings, text)
					      : must_strings_intern(strings, text);
	return must_functions_add(&adding->paths->cells, &key);
}

static uint32_t intern_label(struct adding *adding, const char *text)
{
	return intern_cell(
		adding, text,
		(struct shown_function){ .kind = FUNCTION_LABEL, .origin = RECORDING_NO_ORIGIN });
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
	struct shown_function key = {
		.place = adding->options->places       ? intern_place(adding, frame)
			 : adding->options->no_objects ? 0
						       : adding->objects[frame->object],
		.origin = kernel ? RECORDING_NO_ORIGIN : frame->origin,
	};
	uint32_t nr, slot = frame_slots(texts, idx, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const char *text = strings_text(&texts->strings, texts->ids[slot + i]);

		key.kind = kernel ? FUNCTION_KERNEL : i + 1 < nr ? FUNCTION_INLINED : FUNCTION_USER;
		adding->cells[slot + i] = intern_cell(adding, text, key);
	}
}

static void add_cells(struct adding *adding)
{
	const struct recording *recording = adding->texts->recording;

	adding->cells = must_calloc(frame_slots_nr(adding->texts), sizeof(*adding->cells));
	adding->objects = must_calloc(recording->nr_objects, sizeof(*adding->objects));
	for (size_t i = 0; i < recording->nr_objects; i++)
		adding->objects[i] = must_strings_intern(
			&adding->paths->strings,
			recording_string(recording, recording->objects[i].path));
	for (size_t i = 0; i < recording->nr_frames; i++)
		add_frame(adding, (uint32_t)i);
	adding->separator = intern_label(adding, "-");
}

/* Put the cells of the labels of @stack. Labels of a few texts follow each other in most
 * recordings. */
static void put_labels(struct adding *adding, const struct recording_stack *stack)
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
		must_push(&adding->steps, adding->label_cell);
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

/* The cell of @slot. @of_waker: on the stack of who ended a wait. */
static uint32_t cell_of(struct adding *adding, uint32_t slot, bool of_waker)
{
	struct functions *cells = &adding->paths->cells;
	struct shown_function key;

	if (slot == STACK_DELIMITER)
		return adding->separator;
	if (!of_waker)
		return adding->cells[slot];
	key = cells->list[adding->cells[slot]];
	key.of_waker = true;
	return must_functions_add(cells, &key);
}

/* Put the steps of @stack. */
static void put_steps(struct adding *adding, const struct recording_stack *stack)
{
	const struct stack_slot_options options = {
		.walk = adding->options->walk,
		.delimited = adding->options->delimited,
		.max = FLAME_STEPS_MAX,
	};
	struct stack_slots *steps = &adding->steps;

	steps->nr = 0;
	put_labels(adding, stack);

	size_t nr_labels = steps->nr;

	must_stack_slots(adding->texts, stack, &options, steps);
	for (size_t i = nr_labels; i < steps->nr; i++)
		steps->list[i] = cell_of(adding, steps->list[i],
					 adding->options->wakers && i >= steps->nr_own);
}

/* Errors: -E2BIG. */
static int put_path(struct adding *adding, size_t idx, unsigned side)
{
	const struct recording_stack *stack = &adding->texts->recording->stacks[idx];
	struct flame_paths *paths = adding->paths;
	struct flame_path path = {
		.count = measure_stack(&adding->measure, stack),
		.first = paths->steps.nr,
		.stack = (uint32_t)idx,
		.elided = adding->options->walk == MERGE_FP ? 0 : stack->elided,
		.side = (uint8_t)side,
	};

	if (paths->steps.nr > steps_max(adding->options))
		return -E2BIG;
	put_steps(adding, stack);
	if (adding->steps.nr > FLAME_STEPS_MAX) {
		adding->steps.nr = FLAME_STEPS_MAX;
		paths->cut[side] += path.count;
	}
	path.nr = (uint32_t)adding->steps.nr;
	if (adding->options->reverse)
		reverse(adding->steps.list, path.nr);
	must_reserve(&paths->steps, paths->steps.nr + path.nr);
	if (path.nr)
		memcpy(&paths->steps.list[path.first], adding->steps.list,
		       path.nr * sizeof(*adding->steps.list));
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

	measure_init(recording, &adding.measure);
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

uint32_t flame_paths_delimiter(const struct flame_paths *paths)
{
	for (uint32_t i = 0; i < paths->cells.nr; i++) {
		const struct shown_function *cell = &paths->cells.list[i];

		if (cell->kind == FUNCTION_USER && !*flame_text(paths, cell->place) &&
		    !strcmp(flame_text(paths, cell->text), RECORDING_DELIMITER))
			return i;
	}
	return UINT32_MAX;
}

/* Cells on their way into an order. */
struct ranking {
	const struct flame_paths *paths;
	bool places;
};

static int compare_texts(const struct flame_paths *paths, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(flame_text(paths, a), flame_text(paths, b));
}

static int compare_cells(const void *left, const void *right, void *ctx)
{
	const struct ranking *ranking = ctx;
	const struct flame_paths *paths = ranking->paths;
	const struct shown_function *a = &paths->cells.list[*(const uint32_t *)left];
	const struct shown_function *b = &paths->cells.list[*(const uint32_t *)right];
	int order = compare_texts(paths, a->text, b->text);

	if (!order && ranking->places)
		order = compare_texts(paths, a->place, b->place);
	if (!order)
		order = (int)flame_kind(a) - (int)flame_kind(b);
	return order ? order : (int)a->of_waker - (int)b->of_waker;
}

uint32_t *flame_paths_rank(const struct flame_paths *paths, bool places)
{
	struct ranking ranking = { .paths = paths, .places = places };
	size_t nr = paths->cells.nr;
	AUTO_FREE uint32_t *order = must_calloc(nr, sizeof(*order));
	uint32_t *ranks = must_calloc(nr, sizeof(*ranks));

	for (size_t i = 0; i < nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, nr, sizeof(*order), compare_cells, &ranking);
	for (size_t i = 1; i < nr; i++)
		ranks[order[i]] = ranks[order[i - 1]] +
				  (compare_cells(&order[i - 1], &order[i], &ranking) != 0);
	return ranks;
}

struct sort_path *flame_paths_sort(const struct flame_paths *paths, unsigned sides,
				   const uint32_t *ranks, size_t *ret_nr)
{
	struct sort_path *sorted = must_calloc(paths->nr, sizeof(*sorted));
	size_t nr = 0;

	for (size_t i = 0; i < paths->nr; i++)
		if (sides & 1u << paths->list[i].side)
			sorted[nr++] = (struct sort_path){
				.steps = paths->steps.list + paths->list[i].first,
				.nr = paths->list[i].nr,
				.idx = (uint32_t)i,
			};
	path_sort(sorted, nr, ranks);
	*ret_nr = nr;
	return sorted;
}
