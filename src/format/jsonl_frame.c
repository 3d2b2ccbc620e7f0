/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_frame.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/keys.h"

/* A function, and where in its source: the members of a frame, or of one inlined in it. */
static struct recording_line read_line(struct reading *reading, json_object *object,
				       const char *symbol)
{
	AUTO_FREE char *file = jsonl_text(reading, object, "file");

	return (struct recording_line){
		.function = reading_function(reading, symbol, file,
					     jsonl_number32(reading, object, "start_line")),
		.line = jsonl_number32(reading, object, "line"),
		.column = jsonl_number32(reading, object, "column"),
	};
}

/* Read the inlined functions, innermost first, then the function itself. Returns their number. */
static uint8_t read_lines(struct reading *reading, json_object *object, const char *symbol,
			  struct recording_line lines[static RECORDING_LINES_MAX])
{
	json_object *inlined = json_object_object_get(object, "inlined");
	size_t nr = 0;

	if (inlined && !json_object_is_type(inlined, json_type_array))
		reading_fail(reading, "\"inlined\" is no list");
	else if (inlined)
		nr = json_object_array_length(inlined);
	if (nr >= RECORDING_LINES_MAX)
		reading_fail(reading, "more than %u inlined functions", RECORDING_LINES_MAX - 1);
	for (size_t i = 0; !reading->error && i < nr; i++) {
		json_object *entry = json_object_array_get_idx(inlined, i);
		AUTO_FREE char *name = NULL;

		if (!json_object_is_type(entry, json_type_object)) {
			reading_fail(reading, "\"inlined\" holds no object");
			break;
		}
		name = jsonl_text(reading, entry, "symbol");
		lines[i] = read_line(reading, entry, name);
	}
	if (reading->error)
		return 0;
	lines[nr] = read_line(reading, object, symbol);
	return (uint8_t)(nr + 1);
}

static uint8_t read_origin(struct reading *reading, json_object *object)
{
	const char *text = json_object_get_string(json_object_object_get(object, "origin"));
	uint8_t origin = text ? origin_of_key(text, strlen(text)) : RECORDING_NO_ORIGIN;

	if (origin == RECORDING_NO_ORIGIN && (!text || strcmp(text, "unknown") != 0))
		reading_fail(reading, "no origin is called \"%.40s\"", text ? text : "");
	return origin;
}

/* The object at @path that the frame @object is in. */
static uint32_t read_object(struct reading *reading, json_object *object, const char *path)
{
	AUTO_FREE char *build_id = jsonl_text(reading, object, "build_id");
	uint64_t file_bias = jsonl_address(reading, object, "file_bias");
	const struct recording_object key = {
		.path = must_add_text(reading->recording, path),
		.build_id = must_add_text(reading->recording, build_id),
		.offsets = json_object_get_boolean(json_object_object_get(object, "offsets")) != 0,
		.file_bias = file_bias == RECORDING_NO_ADDRESS ? 0 : file_bias,
	};

	return must_add_object(reading->recording, &key);
}

static void read_user(struct reading *reading, json_object *object, struct recording_frame *frame)
{
	AUTO_FREE char *path = jsonl_text(reading, object, "object");

	if (path)
		frame->object = read_object(reading, object, path);
	frame->address = jsonl_address(reading, object, path ? "vaddr" : "addr");
	frame->exact = json_object_get_boolean(json_object_object_get(object, "exact"));
	frame->origin = read_origin(reading, object);
}

/* A frame of the kernel is of a module, or of the kernel itself. */
static void read_kernel(struct reading *reading, json_object *object, bool leaf,
			struct recording_frame *frame)
{
	AUTO_FREE char *module = jsonl_text(reading, object, "module");
	AUTO_FREE char *path = must_asprintf("[%s]", module ? module : "kernel.kallsyms");

	frame->exact = leaf;
	frame->object = reading_object(reading, path, "");
	frame->address = jsonl_address(reading, object, "addr");
}

void jsonl_frame_read(struct reading *reading, json_object *object, enum recording_kind kind,
		      bool leaf)
{
	struct recording_line lines[RECORDING_LINES_MAX];
	struct recording_frame frame = { .kind = (uint8_t)kind };
	AUTO_FREE char *symbol = NULL;
	uint64_t offset;

	if (!json_object_is_type(object, json_type_object)) {
		reading_fail(reading, "a frame that is no object");
		return;
	}
	/* below a waker's stack kernel frames are among those of the user */
	if (json_object_object_get_ex(object, "module", NULL))
		frame.kind = RECORDING_KERNEL;
	if (frame.kind == RECORDING_KERNEL)
		read_kernel(reading, object, leaf && kind == RECORDING_KERNEL, &frame);
	else
		read_user(reading, object, &frame);
	symbol = jsonl_text(reading, object, "symbol");
	if (symbol)
		frame.nr_lines = read_lines(reading, object, symbol, lines);
	offset = jsonl_number(reading, object, "offset", UINT64_MAX);
	if (json_object_object_get(object, "offset") && frame.address != RECORDING_NO_ADDRESS) {
		if (offset > frame.address)
			reading_fail(reading, "a frame's offset is beyond its address");
		frame.start = frame.address - offset;
	} else {
		frame.start = jsonl_address(reading, object, "start");
	}
	reading_push(reading, &frame, lines);
}
