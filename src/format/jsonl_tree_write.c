/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_tree_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void jsonl_tree_writer_init(const struct recording *recording, const struct frame_list *frames,
			    struct jsonl_tree_writer *ret)
{
	*ret = (struct jsonl_tree_writer){
		.recording = recording,
		.frames = frames,
		.numbers = must_calloc(2 * recording->nr_frames + 1, sizeof(*ret->numbers)),
	};
	must_push(&ret->nodes, (struct jsonl_tree_node){ 0 });
}

void jsonl_tree_writer_fini(struct jsonl_tree_writer *writer)
{
	id_table_fini(&writer->children);
	id_table_fini(&writer->alike);
	vector_fini(&writer->described);
	vector_fini(&writer->nodes);
	free(writer->numbers);
}

/* The index of frame @id in numbers; @leaf: it is the leaf of its list. */
static uint32_t index_of(const struct jsonl_tree_writer *writer, uint32_t id, bool leaf)
{
	return 2 * id + (leaf && writer->recording->frames[id].kind == RECORDING_KERNEL);
}

static uint64_t hash_of(uint32_t outer, uint32_t frame)
{
	const uint32_t key[] = { outer, frame };

	return id_table_hash(0, key, sizeof(key));
}

/* Find the node of @frame in front of @outer, or ID_TABLE_NONE. */
static uint32_t child_of(const struct jsonl_tree_writer *writer, uint32_t outer, uint32_t frame)
{
	const struct jsonl_tree_node *nodes = writer->nodes.list;

	return ID_TABLE_FIND(&writer->children, hash_of(outer, frame), i,
			     nodes[i].outer == outer && nodes[i].frame == frame);
}

/* The lines of @frame: the last is that of the function itself. */
static const struct recording_line *lines_of(const struct jsonl_tree_writer *writer,
					     const struct recording_frame *frame)
{
	return &writer->recording->lines[frame->first_line];
}

/* The line of the function itself; all 0: it has no name. */
static struct recording_line own_line(const struct jsonl_tree_writer *writer,
				      const struct recording_frame *frame)
{
	return frame->nr_lines ? lines_of(writer, frame)[frame->nr_lines - 1]
			       : (struct recording_line){ 0 };
}

/* Bytes of the lines of functions inlined at @frame, which has a name. */
static size_t inlined_size(const struct recording_frame *frame)
{
	return (frame->nr_lines - 1u) * sizeof(struct recording_line);
}

static uint64_t alike_hash(const struct jsonl_tree_writer *writer,
			   const struct recording_frame *frame)
{
	const uint64_t key[] = {
		frame->start,
		frame->object,
		(uint64_t)own_line(writer, frame).function << 32 | frame->origin << 8 |
			frame->nr_lines,
	};
	uint64_t hash = id_table_hash(0, key, sizeof(key));

	if (frame->nr_lines > 1)
		hash = id_table_hash(hash, lines_of(writer, frame), inlined_size(frame));
	return hash;
}

/*
 * Do frames differ in address, line and column of the function alone? A kernel frame is exact where
 * it is the leaf of its list: its text does not say it.
 */
static bool are_alike(const struct jsonl_tree_writer *writer, const struct recording_frame *a,
		      const struct recording_frame *b)
{
	return a->start == b->start && a->object == b->object && a->kind == b->kind &&
	       a->origin == b->origin && (a->exact == b->exact || a->kind == RECORDING_KERNEL) &&
	       a->nr_lines == b->nr_lines &&
	       own_line(writer, a).function == own_line(writer, b).function &&
	       (a->nr_lines < 2 ||
		!memcmp(lines_of(writer, a), lines_of(writer, b), inlined_size(a)));
}

/* Find the described frame that @frame is like: its index in described, or ID_TABLE_NONE. */
static uint32_t described_like(const struct jsonl_tree_writer *writer,
			       const struct recording_frame *frame)
{
	const uint32_t *described = writer->described.list;

	return ID_TABLE_FIND(&writer->alike, alike_hash(writer, frame), i,
			     are_alike(writer, frame, &writer->recording->frames[described[i]]));
}

/* Write @frame by frame @like of described: its offset, and its line where it has another. */
static void write_alike(const struct jsonl_tree_writer *writer, struct json *json,
			const struct recording_frame *frame, uint32_t like)
{
	const struct recording_frame *first =
		&writer->recording->frames[writer->described.list[like]];
	const struct recording_line line = own_line(writer, frame);
	const struct recording_line other = own_line(writer, first);

	json_open(json, NULL, '[');
	json_number(json, NULL, like + 1);
	json_number(json, NULL, frame->address - frame->start);
	if (line.line != other.line || line.column != other.column) {
		json_number(json, NULL, line.line);
		json_number(json, NULL, line.column);
	}
	json_close(json, ']');
}

/* Write frame @id for the first time: by one like it, or described. */
static void write_frame(struct jsonl_tree_writer *writer, struct json *json, uint32_t id)
{
	const struct recording_frame *frame = &writer->recording->frames[id];
	bool has_offset = frame->start != RECORDING_NO_ADDRESS &&
			  frame->address != RECORDING_NO_ADDRESS && frame->address >= frame->start;
	uint32_t like = has_offset ? described_like(writer, frame) : ID_TABLE_NONE;

	if (like != ID_TABLE_NONE) {
		write_alike(writer, json, frame, like);
		return;
	}
	if (has_offset)
		must_id_table_add(&writer->alike, alike_hash(writer, frame),
				  (uint32_t)writer->described.nr);
	must_push(&writer->described, id);
	json_next(json);
	frame_list_put(writer->frames, id, json->to);
}

/* Write frame @id as an element: itself the first time, else its number. */
static void write_element(struct jsonl_tree_writer *writer, struct json *json, uint32_t id,
			  bool leaf)
{
	uint32_t *number = &writer->numbers[index_of(writer, id, leaf)];

	if (*number) {
		json_number(json, NULL, *number);
		return;
	}
	*number = ++writer->nr_numbers;
	write_frame(writer, json, id);
}

/* Add the nodes of @ids [@nr], which were listed, in front of @outer. */
static void add_nodes(struct jsonl_tree_writer *writer, uint32_t outer, const uint32_t *ids,
		      size_t nr)
{
	for (size_t i = nr; i-- > 0;) {
		const struct jsonl_tree_node node = {
			.outer = outer,
			.frame = index_of(writer, ids[i], !i),
			.place = writer->nr_places + (uint32_t)i + 1,
		};

		must_id_table_add(&writer->children, hash_of(node.outer, node.frame),
				  (uint32_t)writer->nodes.nr);
		outer = (uint32_t)writer->nodes.nr;
		must_push(&writer->nodes, node);
	}
	writer->nr_places += (uint32_t)nr;
}

void jsonl_tree_write(struct jsonl_tree_writer *writer, struct json *json, const char *key,
		      const char *rest_key, const uint32_t *ids, size_t nr)
{
	uint32_t node = 0;

	while (nr) {
		uint32_t inner = child_of(writer, node, index_of(writer, ids[nr - 1], nr == 1));

		if (inner == ID_TABLE_NONE)
			break;
		node = inner;
		nr--;
	}
	json_open(json, key, '[');
	for (size_t i = 0; i < nr; i++)
		write_element(writer, json, ids[i], !i);
	json_close(json, ']');
	if (node)
		json_number(json, rest_key, writer->nodes.list[node].place);
	add_nodes(writer, node, ids, nr);
}
