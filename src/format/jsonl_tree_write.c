/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_tree_write.h"

#include <stdlib.h>

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
	json_next(json);
	frame_list_put(writer->frames, id, json->to);
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
