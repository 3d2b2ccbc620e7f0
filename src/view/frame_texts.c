/* SPDX-License-Identifier: Apache-2.0 */
#include "view/frame_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "recording/keys.h"

int frame_texts_intern(struct strings *strings, const char *text, const char *suffix, bool verbatim,
		       uint32_t *ret)
{
	size_t bare = strlen(text);
	size_t length = verbatim ? bare : text_escape(NULL, 0, text, ";");
	size_t suffix_size = strlen(suffix) + 1;

	/* where nothing got longer nothing was escaped */
	if (suffix_size == 1 && length == bare)
		return strings_intern(strings, text, ret);

	AUTO_FREE char *whole = malloc(length + suffix_size);

	if (!whole)
		return -ENOMEM;
	if (verbatim)
		memcpy(whole, text, length);
	else
		text_escape(whole, length + 1, text, ";");
	memcpy(whole + length, suffix, suffix_size);
	return strings_intern(strings, whole, ret);
}

static const char *suffix_of(const struct frame_texts *texts, const struct recording_frame *frame)
{
	if (frame->kind == RECORDING_KERNEL)
		return texts->options.annotate ? "_[k]" : "";
	return texts->options.origin ? origin_mark(frame->origin) : "";
}

static char *place_text(const char *path, uint64_t address)
{
	char *text;
	int length;

	if (address == RECORDING_NO_ADDRESS)
		length = asprintf(&text, "[%s]", path ? path : "unknown");
	else if (path)
		length = asprintf(&text, "[%s+0x%" PRIx64 "]", path, address);
	else
		length = asprintf(&text, "[0x%" PRIx64 "]", address);
	return length < 0 ? NULL : text;
}

int frame_texts_intern_place(struct strings *strings, const char *path, uint64_t address,
			     const char *suffix, bool verbatim, uint32_t *ret)
{
	AUTO_FREE char *text = place_text(path, address);

	return text ? frame_texts_intern(strings, text, suffix, verbatim, ret) : -ENOMEM;
}

char *frame_unnamed_text(const struct recording *recording, const struct recording_frame *frame,
			 bool addresses)
{
	const char *path = recording_string(recording, recording->objects[frame->object].path);
	bool placed = frame->kind == RECORDING_USER && *path;
	bool by_start = placed && frame->start != RECORDING_NO_ADDRESS &&
			(!addresses || frame->address == RECORDING_NO_ADDRESS);

	return place_text(placed ? text_path_name(path) : NULL,
			  by_start ? frame->start : frame->address);
}

static int intern_unnamed(struct frame_texts *texts, const struct recording_frame *frame,
			  uint32_t *ret)
{
	AUTO_FREE char *text =
		frame_unnamed_text(texts->recording, frame, texts->options.addresses);

	return text ? frame_texts_intern(&texts->strings, text, suffix_of(texts, frame),
					 texts->options.verbatim, ret)
		    : -ENOMEM;
}

int frame_texts_show(struct frame_texts *texts, uint32_t text, uint32_t *ret)
{
	const char *name = recording_string(texts->recording, text);

	/* one that came after the texts were made has another id among them */
	if (text >= texts->strings.first ||
	    (!texts->options.verbatim && text_escape(NULL, 0, name, ";") != strlen(name)))
		return frame_texts_intern(&texts->strings, name, "", texts->options.verbatim, ret);
	*ret = text;
	return 0;
}

/*
 * The place behind a name, "" or " (file.py:12)", to be freed; NULL: no memory. Functions of
 * scripts have one always: many have one name.
 */
static char *place_of(const struct frame_texts *texts, const struct recording_frame *frame,
		      const struct recording_line *line)
{
	const struct recording_function *function = &texts->recording->functions[line->function];
	const char *path = recording_string(texts->recording, function->file);
	bool script = frame->origin == FPL_ORIGIN_SCRIPT && !texts->options.lines;
	bool by_function = script && texts->options.by_function;
	/* a store keeps no lines within functions */
	uint32_t number =
		by_function || (script && !line->line) ? function->start_line : line->line;
	char *text;
	int length;

	if (!*path || !(number || by_function) || !(script || texts->options.lines))
		return strdup("");
	if (number)
		length = asprintf(&text, " (%s:%u)", text_path_name(path), number);
	else
		length = asprintf(&text, " (%s)", text_path_name(path));
	return length < 0 ? NULL : text;
}

char *frame_script_place(const struct recording *recording, const struct recording_frame *frame)
{
	const struct frame_texts texts = { .recording = recording };

	return frame->nr_lines
		       ? place_of(&texts, frame,
				  &recording->lines[frame->first_line + frame->nr_lines - 1])
		       : strdup("");
}

/* @idx: of a line of @frame, whose last one is not inlined. */
static int intern_line(struct frame_texts *texts, const struct recording_frame *frame, uint32_t idx,
		       uint32_t *ret)
{
	const struct recording *recording = texts->recording;
	const struct recording_line *line = &recording->lines[idx];
	const struct recording_function *function = &recording->functions[line->function];
	const char *name = recording_string(recording, function->name);
	bool is_inlined = idx + 1u < frame->first_line + frame->nr_lines;
	const char *mark = is_inlined && texts->options.annotate ? "_[i]" : "";
	bool may_be_placed = texts->options.lines || frame->origin == FPL_ORIGIN_SCRIPT;
	AUTO_FREE char *place = may_be_placed ? place_of(texts, frame, line) : NULL;
	AUTO_FREE char *whole = NULL;

	if (may_be_placed && !place)
		return -ENOMEM;
	if ((!place || !*place) && !*mark && !*suffix_of(texts, frame))
		return frame_texts_show(texts, function->name, ret);
	if (asprintf(&whole, "%s%s%s", name, place ? place : "", mark) < 0) {
		whole = NULL; /* asprintf leaves it undefined */
		return -ENOMEM;
	}
	return frame_texts_intern(&texts->strings, whole, suffix_of(texts, frame),
				  texts->options.verbatim, ret);
}

static int add_frame(struct frame_texts *texts, uint32_t idx)
{
	const struct recording_frame *frame = &texts->recording->frames[idx];
	uint32_t *ids = &texts->ids[frame->first_line + idx];
	int err = frame->nr_lines ? 0 : intern_unnamed(texts, frame, ids);

	for (uint32_t i = 0; !err && i < frame->nr_lines; i++)
		err = intern_line(texts, frame, frame->first_line + i, &ids[i]);
	return err;
}

int frame_texts_extend(struct frame_texts *texts)
{
	int err = array_reserve(&texts->ids, sizeof(*texts->ids), &texts->room,
				frame_slots_nr(texts));

	for (; !err && texts->nr_frames < texts->recording->nr_frames; texts->nr_frames += !err)
		err = add_frame(texts, (uint32_t)texts->nr_frames);
	return err;
}

void frame_texts_start(const struct recording *recording, const struct frame_text_options *options,
		       struct frame_texts *ret)
{
	*ret = (struct frame_texts){ .recording = recording, .options = *options };
	strings_init_over(&ret->strings, &recording->strings);
}

void frame_texts_init(const struct recording *recording, const struct frame_text_options *options,
		      struct frame_texts *ret)
{
	frame_texts_start(recording, options, ret);
	alloc_check(frame_texts_extend(ret));
}

void frame_texts_fini(struct frame_texts *texts)
{
	strings_fini(&texts->strings);
	free(texts->ids);
	texts->ids = NULL;
}

void frame_module(const struct recording *recording, const struct recording_frame *frame, char *buf,
		  size_t size)
{
	const char *path = recording_string(recording, recording->objects[frame->object].path);
	size_t length = strlen(path);

	*buf = '\0';
	if (frame->kind != RECORDING_KERNEL || length < 2 || !strcmp(path, "[kernel.kallsyms]"))
		return;
	if (path[0] == '[' && path[length - 1] == ']')
		snprintf(buf, size, "%.*s", (int)(length - 2), path + 1);
	else
		snprintf(buf, size, "%s", path);
}

const char *frame_place(const struct recording *recording, const struct recording_frame *frame,
			char *buf, size_t size)
{
	const char *path = recording_string(recording, recording->objects[frame->object].path);

	if (frame->kind == RECORDING_KERNEL) {
		frame_module(recording, frame, buf, size);
		return *buf ? buf : "kernel";
	}
	return *path ? text_path_name(path) : "-";
}

uint32_t frame_place_intern(struct strings *strings, const char *place)
{
	size_t size = text_escape(NULL, 0, place, "") + 1;
	AUTO_FREE char *safe = must_malloc(size);

	text_escape(safe, size, place, "");
	return must_strings_intern(strings, safe);
}
