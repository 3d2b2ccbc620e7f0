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

/* A frame at its first sight, or the number of one. */
static void read_element(struct jsonl_tree_reader *reader, struct reading *reading,
			 json_object *element, enum recording_kind kind, bool leaf)
{
	uint64_t number;

	if (!json_object_is_type(element, json_type_int)) {
		jsonl_frame_read(reading, element, kind, leaf);
		if (!reading->error)
			must_push(&reader->frames, reading->frames.list[reading->frames.nr - 1]);
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
