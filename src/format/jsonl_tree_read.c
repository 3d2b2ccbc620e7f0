/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_tree_read.h"

#include <inttypes.h>

#include "format/jsonl_frame.h"

static const struct {
	const char *list, *rest;
} keys[] = {
	[RECORDING_USER] = { "user", "user_rest" },
	[RECORDING_KERNEL] = { "kernel", "kernel_rest" },
};

void jsonl_tree_reader_fini(struct jsonl_tree_reader *reader)
{
	vector_fini(&reader->frames);
	vector_fini(&reader->described);
	vector_fini(&reader->places);
}

/* Put frame @id, which a number led to, behind those at hand. */
static void push(struct reading *reading, uint32_t id, enum recording_kind kind)
{
	if (kind == RECORDING_KERNEL && reading->recording->frames[id].kind != kind)
		reading_fail(reading, "\"%s\" has a number of a frame of the other kind",
			     keys[kind].list);
	else if (reading->frames.nr == READING_FRAMES_MAX)
		reading_fail(reading, "a stack of more than %u frames", READING_FRAMES_MAX);
	else
		must_push(&reading->frames, id);
}

/* Read element @idx of @element, a list of whole numbers; 0: it has no such element. */
static uint64_t read_part(struct reading *reading, json_object *element, size_t idx, uint64_t max,
			  enum recording_kind kind)
{
	json_object *part = json_object_array_get_idx(element, idx);

	return part ? jsonl_whole(reading, keys[kind].list, part, max) : 0;
}

/* Read a frame as [number of a described one, offset] or [..., line, column]. */
static void read_alike(struct jsonl_tree_reader *reader, struct reading *reading,
		       json_object *element, enum recording_kind kind, bool leaf)
{
	size_t nr = json_object_array_length(element);
	uint64_t number = read_part(reading, element, 0, UINT32_MAX, kind);
	uint64_t offset = read_part(reading, element, 1, UINT64_MAX, kind);
	struct recording_line lines[RECORDING_LINES_MAX];
	struct recording_frame frame;

	if (nr != 2 && nr != 4)
		reading_fail(reading, "a frame of %zu numbers", nr);
	else if (!number || number > reader->described.nr)
		reading_fail(reading, "a frame like frame %" PRIu64 " where %zu were described",
			     number, reader->described.nr);
	if (reading->error)
		return;
	frame = reading->recording->frames[reader->described.list[number - 1]];
	if (kind == RECORDING_KERNEL && frame.kind != kind)
		reading_fail(reading, "\"%s\" has a frame like one of the other kind",
			     keys[kind].list);
	else if (frame.start == RECORDING_NO_ADDRESS || (nr == 4 && !frame.nr_lines))
		reading_fail(reading, "a frame like one without a beginning or a line");
	else if (__builtin_add_overflow(frame.start, offset, &frame.address))
		reading_fail(reading, "a frame's offset is beyond 64 bits");
	if (frame.kind == RECORDING_KERNEL)
		frame.exact = leaf && kind == RECORDING_KERNEL;
	for (size_t i = 0; i < frame.nr_lines; i++)
		lines[i] = reading->recording->lines[frame.first_line + i];
	if (nr == 4 && frame.nr_lines) {
		lines[frame.nr_lines - 1].line =
			(uint32_t)read_part(reading, element, 2, UINT32_MAX, kind);
		lines[frame.nr_lines - 1].column =
			(uint32_t)read_part(reading, element, 3, UINT32_MAX, kind);
	}
	reading_push(reading, &frame, lines);
}

/* A frame at its first sight, or the number of one. */
static void read_element(struct jsonl_tree_reader *reader, struct reading *reading,
			 json_object *element, enum recording_kind kind, bool leaf)
{
	uint64_t number;

	if (!json_object_is_type(element, json_type_int)) {
		bool is_alike = reader->has_alike && json_object_is_type(element, json_type_array);

		if (is_alike)
			read_alike(reader, reading, element, kind, leaf);
		else
			jsonl_frame_read(reading, element, kind, leaf);
		if (reading->error)
			return;
		must_push(&reader->frames, reading->frames.list[reading->frames.nr - 1]);
		if (!is_alike)
			must_push(&reader->described, reading->frames.list[reading->frames.nr - 1]);
		return;
	}
	number = jsonl_whole(reading, keys[kind].list, element, UINT32_MAX);
	if (!number || number > reader->frames.nr)
		reading_fail(reading, "frame %" PRIu64 " where %zu were before", number,
			     reader->frames.nr);
	else
		push(reading, reader->frames.list[number - 1], kind);
}

static void read_rest(struct jsonl_tree_reader *reader, struct reading *reading,
		      json_object *object, enum recording_kind kind)
{
	uint32_t number = jsonl_number32(reading, object, keys[kind].rest);
	struct jsonl_tree_place place;

	if (!number)
		return;
	if (number > reader->places.nr) {
		reading_fail(reading, "\"%s\" is %" PRIu32 " where %zu frames were listed before",
			     keys[kind].rest, number, reader->places.nr);
		return;
	}
	place = reader->places.list[number - 1];
	for (uint16_t i = 0; !reading->error && i < place.nr; i++)
		push(reading, reading->recording->frame_ids[place.first + i], kind);
}

uint16_t jsonl_tree_read(struct jsonl_tree_reader *reader, struct reading *reading,
			 json_object *object, enum recording_kind kind)
{
	json_object *list = json_object_object_get(object, keys[kind].list);
	size_t before = reading->frames.nr, nr = 0;

	if (list && !json_object_is_type(list, json_type_array))
		reading_fail(reading, "\"%s\" is no list", keys[kind].list);
	else if (list)
		nr = json_object_array_length(list);
	for (size_t i = 0; !reading->error && i < nr; i++)
		read_element(reader, reading, json_object_array_get_idx(list, i), kind, !i);
	reader->nr_listed[kind] = nr;
	if (!reading->error)
		read_rest(reader, reading, object, kind);
	return (uint16_t)(reading->frames.nr - before);
}

static void number_listed(struct jsonl_tree_reader *reader, enum recording_kind kind, size_t first,
			  uint16_t nr)
{
	for (size_t i = 0; i < reader->nr_listed[kind]; i++)
		must_push(&reader->places,
			  (struct jsonl_tree_place){ (uint32_t)(first + i), (uint16_t)(nr - i) });
}

void jsonl_tree_added(struct jsonl_tree_reader *reader, const struct recording_stack *stack)
{
	number_listed(reader, RECORDING_USER, stack->first_frame, stack->nr_user);
	number_listed(reader, RECORDING_KERNEL, (size_t)stack->first_frame + stack->nr_user,
		      stack->nr_kernel);
}
