/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/jsonl_frame.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* A function, and where in its source: the members of a frame, or of one inlined in it. */
static int read_line(struct reading *reading, json_object *object, const char *symbol,
		     struct recording_line *ret, struct fpl_err *err)
{
	AUTO_FREE char *file = NULL;
	uint64_t line, column, start_line;
	int error =
		jsonl_text_of(reading, "file", json_object_object_get(object, "file"), &file, err);

	if (!error)
		error = jsonl_number(reading, object, "line", UINT32_MAX, &line, err);
	if (!error)
		error = jsonl_number(reading, object, "column", UINT32_MAX, &column, err);
	if (!error)
		error = jsonl_number(reading, object, "start_line", UINT32_MAX, &start_line, err);
	if (error)
		return error;
	ret->function = reading_function(reading, symbol, file, (uint32_t)start_line);
	ret->line = (uint32_t)line;
	ret->column = (uint32_t)column;
	return 0;
}

static int read_symbol(struct reading *reading, json_object *object, char **ret,
		       struct fpl_err *err)
{
	return jsonl_text_of(reading, "symbol", json_object_object_get(object, "symbol"), ret, err);
}

/* What is inlined, the innermost first, then the function itself. */
static int read_lines(struct reading *reading, json_object *object, const char *symbol,
		      struct recording_line lines[static RECORDING_LINES_MAX], uint8_t *ret_nr,
		      struct fpl_err *err)
{
	json_object *inlined = json_object_object_get(object, "inlined");
	size_t nr = 0;
	int error = 0;

	if (inlined) {
		if (!json_object_is_type(inlined, json_type_array))
			return line_input_fail(reading->input, err, "\"inlined\" is no list");
		nr = json_object_array_length(inlined);
	}
	if (nr >= RECORDING_LINES_MAX)
		return line_input_fail(reading->input, err, "more than %u inlined functions",
				       RECORDING_LINES_MAX - 1);
	for (size_t i = 0; !error && i < nr; i++) {
		json_object *entry = json_object_array_get_idx(inlined, i);
		AUTO_FREE char *name = NULL;

		if (!json_object_is_type(entry, json_type_object))
			return line_input_fail(reading->input, err, "\"inlined\" holds no object");
		error = read_symbol(reading, entry, &name, err);
		if (!error)
			error = read_line(reading, entry, name, &lines[i], err);
	}
	*ret_nr = (uint8_t)(nr + 1);
	return error ? error : read_line(reading, object, symbol, &lines[nr], err);
}

static int read_origin(struct reading *reading, json_object *object, uint8_t *ret,
		       struct fpl_err *err)
{
	static const char *const keys[FPL_ORIGIN_COUNT] = {
#define X(name, key, suffix) [FPL_ORIGIN_##name] = #key,
		FPL_ORIGIN_LIST(X)
#undef X
	};
	const char *text = json_object_get_string(json_object_object_get(object, "origin"));

	for (uint8_t i = 0; text && i < ARRAY_SIZE(keys); i++) {
		if (strcmp(text, keys[i]) != 0)
			continue;
		*ret = i;
		return 0;
	}
	if (text && !strcmp(text, "unknown")) {
		*ret = RECORDING_NO_ORIGIN;
		return 0;
	}
	return line_input_fail(reading->input, err, "no origin is called \"%.40s\"",
			       text ? text : "");
}

static int read_user(struct reading *reading, json_object *object, struct recording_frame *frame,
		     struct fpl_err *err)
{
	AUTO_FREE char *path = NULL, *build_id = NULL;
	int error = jsonl_text_of(reading, "object", json_object_object_get(object, "object"),
				  &path, err);

	if (!error)
		error = jsonl_text_of(reading, "build_id",
				      json_object_object_get(object, "build_id"), &build_id, err);
	if (!error && path)
		frame->object = reading_object(reading, path, build_id);
	if (!error)
		error = jsonl_address(reading, object, path ? "vaddr" : "addr", &frame->address,
				      err);
	frame->exact = json_object_get_boolean(json_object_object_get(object, "exact"));
	return error ? error : read_origin(reading, object, &frame->origin, err);
}

/* A frame of the kernel is of a module, or of the kernel itself. */
static int read_kernel(struct reading *reading, json_object *object, bool leaf,
		       struct recording_frame *frame, struct fpl_err *err)
{
	AUTO_FREE char *module = NULL, *path = NULL;
	int error = jsonl_text_of(reading, "module", json_object_object_get(object, "module"),
				  &module, err);

	if (error)
		return error;
	path = must_asprintf("[%s]", module ? module : "kernel.kallsyms");
	frame->exact = leaf;
	frame->object = reading_object(reading, path, "");
	return jsonl_address(reading, object, "addr", &frame->address, err);
}

int jsonl_frame_read(struct reading *reading, json_object *object, enum recording_kind kind,
		     bool leaf, struct fpl_err *err)
{
	struct recording_line lines[RECORDING_LINES_MAX];
	struct recording_frame frame = { .start = RECORDING_NO_ADDRESS, .kind = (uint8_t)kind };
	AUTO_FREE char *symbol = NULL;
	uint64_t offset;
	int error;

	if (!json_object_is_type(object, json_type_object))
		return line_input_fail(reading->input, err, "a frame that is no object");
	error = kind == RECORDING_KERNEL ? read_kernel(reading, object, leaf, &frame, err)
					 : read_user(reading, object, &frame, err);
	if (!error)
		error = read_symbol(reading, object, &symbol, err);
	if (!error && symbol)
		error = read_lines(reading, object, symbol, lines, &frame.nr_lines, err);
	if (!error)
		error = jsonl_number(reading, object, "offset", UINT64_MAX, &offset, err);
	if (error)
		return error;
	if (json_object_object_get(object, "offset") && frame.address != RECORDING_NO_ADDRESS) {
		if (offset > frame.address)
			return line_input_fail(reading->input, err,
					       "a frame's offset is beyond its address");
		frame.start = frame.address - offset;
	} else {
		error = jsonl_address(reading, object, "start", &frame.start, err);
		if (error)
			return error;
	}
	return reading_push(reading, &frame, lines, err);
}
