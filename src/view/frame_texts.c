/* SPDX-License-Identifier: Apache-2.0 */
#include "view/frame_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "recording/origin_mark.h"

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

int frame_texts_intern_place(struct strings *strings, const char *path, uint64_t address,
			     const char *suffix, bool verbatim, uint32_t *ret)
{
	AUTO_FREE char *text = NULL;
	int length;

	if (address == RECORDING_NO_ADDRESS)
		length = asprintf(&text, "[%s]", path ? path : "unknown");
	else if (path)
		length = asprintf(&text, "[%s+0x%" PRIx64 "]", path, address);
	else
		length = asprintf(&text, "[0x%" PRIx64 "]", address);
	if (length < 0) {
		text = NULL; /* asprintf leaves it undefined */
		return -ENOMEM;
	}
	return frame_texts_intern(strings, text, suffix, verbatim, ret);
}

static int intern_unnamed(struct frame_texts *texts, const struct recording_frame *frame,
			  uint32_t *ret)
{
	const struct recording *recording = texts->recording;
	const char *path = recording_string(recording, recording->objects[frame->object].path);
	bool placed = frame->kind == RECORDING_USER && *path;
	uint64_t address = frame->address;

	if (placed && texts->options.by_function) {
		path = text_path_name(path);
		if (frame->start != RECORDING_NO_ADDRESS)
			address = frame->start;
	}
	return frame_texts_intern_place(&texts->strings, placed ? path : NULL, address,
					suffix_of(texts, frame), texts->options.verbatim, ret);
}

/* " (file.c:12)", where the file is known and that was asked for; else nothing. */
static int line_text(const struct frame_texts *texts, const struct recording_line *line, char **ret)
{
	const struct recording *recording = texts->recording;
	const char *path = recording_string(recording, recording->functions[line->function].file);

	*ret = NULL;
	if (!texts->options.lines || !*path || !line->line)
		return 0;
	if (asprintf(ret, " (%s:%u)", text_path_name(path), line->line) < 0) {
		*ret = NULL; /* asprintf leaves it undefined */
		return -ENOMEM;
	}
	return 0;
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

/* @idx: of a line of @frame, whose last one is not inlined. */
static int intern_line(struct frame_texts *texts, const struct recording_frame *frame, uint32_t idx)
{
	const struct recording *recording = texts->recording;
	const struct recording_line *line = &recording->lines[idx];
	const char *name = recording_string(recording, recording->functions[line->function].name);
	bool is_inlined = idx + 1u < frame->first_line + frame->nr_lines;
	const char *mark = is_inlined && texts->options.annotate ? "_[i]" : "";
	AUTO_FREE char *where = NULL, *whole = NULL;
	int err = line_text(texts, line, &where);

	if (err)
		return err;
	if (!where && !*mark && !*suffix_of(texts, frame))
		return frame_texts_show(texts, recording->functions[line->function].name,
					&texts->ids[idx]);
	if (asprintf(&whole, "%s%s%s", name, where ? where : "", mark) < 0) {
		whole = NULL;
		return -ENOMEM;
	}
	return frame_texts_intern(&texts->strings, whole, suffix_of(texts, frame),
				  texts->options.verbatim, &texts->ids[idx]);
}

static int intern_frame(struct frame_texts *texts, uint32_t idx)
{
	const struct recording *recording = texts->recording;
	const struct recording_frame *frame = &recording->frames[idx];
	int err = 0;

	if (!frame->nr_lines)
		return intern_unnamed(texts, frame, &texts->ids[recording->nr_lines + idx]);
	for (uint32_t i = frame->first_line; !err && i < frame->first_line + frame->nr_lines; i++)
		err = intern_line(texts, frame, i);
	return err;
}

int frame_texts_init(const struct recording *recording, const struct frame_text_options *options,
		     struct frame_texts *ret)
{
	int err = 0;

	*ret = (struct frame_texts){ .recording = recording, .options = *options };
	strings_init_over(&ret->strings, &recording->strings);
	ret->ids = calloc(recording->nr_lines + recording->nr_frames + 1, sizeof(*ret->ids));
	if (!ret->ids)
		return -ENOMEM;
	for (size_t i = 0; !err && i < recording->nr_frames; i++)
		err = intern_frame(ret, (uint32_t)i);
	return err;
}

void frame_texts_fini(struct frame_texts *texts)
{
	strings_fini(&texts->strings);
	free(texts->ids);
	texts->ids = NULL;
}

const uint32_t *frame_texts_of(const struct frame_texts *texts, uint32_t idx, size_t *ret_nr)
{
	const struct recording *recording = texts->recording;
	const struct recording_frame *frame = &recording->frames[idx];

	*ret_nr = 1;
	if (!frame->nr_lines)
		return &texts->ids[recording->nr_lines + idx];
	if (texts->options.symbols_only)
		return &texts->ids[frame->first_line + frame->nr_lines - 1u];
	*ret_nr = frame->nr_lines;
	return &texts->ids[frame->first_line];
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

int frame_place_intern(struct strings *strings, const char *place, uint32_t *ret)
{
	size_t size = text_escape(NULL, 0, place, "") + 1;
	AUTO_FREE char *safe = malloc(size);

	if (!safe)
		return -ENOMEM;
	text_escape(safe, size, place, "");
	return strings_intern(strings, safe, ret);
}
