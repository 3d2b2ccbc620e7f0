/* SPDX-License-Identifier: Apache-2.0 */
#include "format/firefox_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Kinds of resources; a library is the only one we have. */
enum { RESOURCE_LIBRARY = 1 };

static void subset_init(struct firefox_subset *subset, size_t room)
{
	subset->local = must_calloc(room, sizeof(*subset->local));
	subset->used = must_calloc(room, sizeof(*subset->used));
}

static void subset_fini(struct firefox_subset *subset)
{
	free(subset->local);
	free(subset->used);
}

static uint32_t subset_number(struct firefox_subset *subset, uint32_t number)
{
	if (!subset->local[number]) {
		subset->used[subset->nr++] = number;
		subset->local[number] = (uint32_t)subset->nr;
	}
	return subset->local[number] - 1;
}

static void subset_clear(struct firefox_subset *subset)
{
	for (size_t i = 0; i < subset->nr; i++)
		subset->local[subset->used[i]] = 0;
	subset->nr = 0;
}

static uint32_t intern(struct frame_texts *texts, const char *text)
{
	return must_frame_texts_intern(&texts->strings, text, "", true);
}

/* The names of objects and files are strings, too. */
static void intern_names(struct frame_texts *texts)
{
	const struct recording *recording = texts->recording;

	for (size_t i = 0; i < recording->nr_objects; i++)
		intern(texts,
		       text_path_name(recording_string(recording, recording->objects[i].path)));
	for (size_t i = 0; i < recording->nr_functions; i++)
		intern(texts, recording_string(recording, recording->functions[i].file));
}

void firefox_tables_init(struct frame_texts *texts, const struct function_index *index,
			 struct firefox_tables *ret)
{
	const struct recording *recording = texts->recording;
	size_t nr_slots = frame_slots_nr(texts);

	*ret = (struct firefox_tables){ .index = index, .texts = texts };
	intern_names(texts);
	ret->unknown = intern(texts, "[unknown]");
	subset_init(&ret->frames, nr_slots + 1); /* the last: no frame at all */
	subset_init(&ret->functions, index->functions.nr + 1);
	subset_init(&ret->objects, recording->nr_objects);
	subset_init(&ret->strings, texts->strings.nr);
	ret->sources = function_index_sources(index);
	ret->frame_of = must_calloc(nr_slots, sizeof(*ret->frame_of));
	for (uint32_t i = 0; i < recording->nr_frames; i++) {
		uint32_t nr, slot = frame_slots(texts, i, &nr);

		for (uint32_t j = 0; j < nr; j++)
			ret->frame_of[slot + j] = i;
	}
}

void firefox_tables_fini(struct firefox_tables *tables)
{
	subset_fini(&tables->frames);
	subset_fini(&tables->functions);
	subset_fini(&tables->objects);
	subset_fini(&tables->strings);
	vector_fini(&tables->nodes);
	vector_fini(&tables->slots);
	free(tables->frame_of);
	free(tables->sources);
	id_table_fini(&tables->node_ids);
}

void firefox_tables_clear(struct firefox_tables *tables)
{
	subset_clear(&tables->frames);
	subset_clear(&tables->functions);
	subset_clear(&tables->objects);
	subset_clear(&tables->strings);
	tables->nodes.nr = 0;
	id_table_fini(&tables->node_ids);
}

/* The slot that stands for no frame at all. */
static uint32_t no_frame(const struct firefox_tables *tables)
{
	return (uint32_t)frame_slots_nr(tables->texts);
}

/* The node of slot @slot, called by node @from; made where it is not there. */
static uint32_t descend(struct firefox_tables *tables, uint32_t slot, uint32_t from)
{
	struct firefox_node key = { .prefix = from, .frame = subset_number(&tables->frames, slot) };
	const struct firefox_node *nodes = tables->nodes.list;
	uint64_t hash = id_table_hash(0, &key, sizeof(key));
	uint32_t at = ID_TABLE_FIND(&tables->node_ids, hash, i,
				    nodes[i].prefix == key.prefix && nodes[i].frame == key.frame);

	if (at != ID_TABLE_NONE)
		return at;
	must_id_table_add(&tables->node_ids, hash, (uint32_t)tables->nodes.nr);
	must_push(&tables->nodes, key);
	return (uint32_t)tables->nodes.nr - 1;
}

uint32_t firefox_tables_add(struct firefox_tables *tables, const struct recording_stack *stack)
{
	struct stack_slots *slots = &tables->slots;
	uint32_t at = FIREFOX_NONE;

	slots->nr = 0;
	must_stack_slots(tables->texts, stack, &(struct stack_slot_options){ 0 }, slots);
	if (!slots->nr)
		must_push(slots, no_frame(tables));
	for (size_t i = 0; i < slots->nr; i++)
		at = descend(tables, slots->list[i], at);
	return at;
}

static void put_minus_one(struct json *json)
{
	json_next(json);
	fputs("-1", json->to);
}

/* NULL: it stands for no frame at all. */
static const struct recording_frame *frame_of(const struct firefox_tables *tables, uint32_t slot)
{
	if (slot == no_frame(tables))
		return NULL;
	return &tables->texts->recording->frames[tables->frame_of[slot]];
}

/* NULL: a frame without a name. */
static const struct recording_line *line_of(const struct firefox_tables *tables, uint32_t slot)
{
	const struct recording_frame *frame = frame_of(tables, slot);

	return frame && frame->nr_lines
		       ? &tables->texts->recording->lines[slot - tables->frame_of[slot]]
		       : NULL;
}

static unsigned category_of(const struct firefox_tables *tables, uint32_t slot)
{
	const struct recording_frame *frame = frame_of(tables, slot);

	return !frame				 ? FIREFOX_OTHER
	       : frame->kind == RECORDING_KERNEL ? FIREFOX_KERNEL
						 : FIREFOX_USER;
}

/* In the call instruction, as the format wants it; kernel addresses are no numbers of JSON. */
static void write_address(struct json *json, const struct recording_frame *frame)
{
	if (!frame || !frame->object || frame->kind == RECORDING_KERNEL ||
	    frame->address == RECORDING_NO_ADDRESS || frame->address >> 53)
		put_minus_one(json);
	else
		json_number(json, NULL, frame->address - (!frame->exact && frame->address > 0));
}

static uint32_t function_of(struct firefox_tables *tables, uint32_t slot)
{
	return slot == no_frame(tables) ? (uint32_t)tables->index->functions.nr
					: tables->index->of_slots[slot];
}

/* The number of frames that a frame is inlined in; the function itself has 0. */
static unsigned inline_depth(const struct firefox_tables *tables, uint32_t slot)
{
	const struct recording_frame *frame = frame_of(tables, slot);

	if (!frame || !frame->nr_lines)
		return 0;
	return frame->first_line + frame->nr_lines - 1u - (slot - tables->frame_of[slot]);
}

static void write_positions(struct firefox_tables *tables, struct json *json, const char *key,
			    bool column)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < tables->frames.nr; i++) {
		const struct recording_line *line = line_of(tables, tables->frames.used[i]);
		uint32_t number = !line ? 0 : column ? line->column : line->line;

		if (number)
			json_number(json, NULL, number);
		else
			json_null(json, NULL);
	}
	json_close(json, ']');
}

static void write_frames(struct firefox_tables *tables, struct json *json)
{
	const uint32_t *used = tables->frames.used;
	size_t nr = tables->frames.nr;

	json_open(json, "frameTable", '{');
	json_number(json, "length", nr);
	JSON_ARRAY(json, "address", nr, write_address(json, frame_of(tables, used[i])));
	JSON_COLUMN(json, "inlineDepth", nr, inline_depth(tables, used[i]));
	JSON_COLUMN(json, "category", nr, category_of(tables, used[i]));
	JSON_COLUMN(json, "subcategory", nr, 0);
	JSON_COLUMN(json, "func", nr,
		    subset_number(&tables->functions, function_of(tables, used[i])));
	JSON_ARRAY(json, "nativeSymbol", nr, json_null(json, NULL));
	JSON_ARRAY(json, "innerWindowID", nr, json_null(json, NULL));
	JSON_ARRAY(json, "implementation", nr, json_null(json, NULL));
	write_positions(tables, json, "line", false);
	write_positions(tables, json, "column", true);
	json_close(json, '}');
}

static void write_nodes(struct firefox_tables *tables, struct json *json)
{
	const struct firefox_node *nodes = tables->nodes.list;
	size_t nr = tables->nodes.nr;

	json_open(json, "stackTable", '{');
	json_number(json, "length", nr);
	json_open(json, "prefix", '[');
	for (size_t i = 0; i < nr; i++) {
		if (nodes[i].prefix == FIREFOX_NONE)
			json_null(json, NULL);
		else
			json_number(json, NULL, nodes[i].prefix);
	}
	json_close(json, ']');
	JSON_COLUMN(json, "frame", nr, nodes[i].frame);
	JSON_COLUMN(json, "category", nr, category_of(tables, tables->frames.used[nodes[i].frame]));
	JSON_COLUMN(json, "subcategory", nr, 0);
	json_close(json, '}');
}

/* NULL: of what has no frame. */
static const struct shown_function *shown_of(const struct firefox_tables *tables, uint32_t function)
{
	return function < tables->index->functions.nr ? &tables->index->functions.list[function]
						      : NULL;
}

/* @text is a string of the texts: it was interned before. */
static uint32_t string_number(struct firefox_tables *tables, const char *text)
{
	return subset_number(&tables->strings, intern(tables->texts, text));
}

static void write_resources_of(struct firefox_tables *tables, struct json *json)
{
	json_open(json, "resource", '[');
	for (size_t i = 0; i < tables->functions.nr; i++) {
		const struct shown_function *shown = shown_of(tables, tables->functions.used[i]);

		if (shown && shown->place)
			json_number(json, NULL, subset_number(&tables->objects, shown->place));
		else
			put_minus_one(json);
	}
	json_close(json, ']');
}

/* @files: of the sources, else the lines functions begin at. */
static void write_sources(struct firefox_tables *tables, struct json *json, const char *key,
			  bool files)
{
	const struct recording *recording = tables->texts->recording;

	json_open(json, key, '[');
	for (size_t i = 0; i < tables->functions.nr; i++) {
		const struct recording_function *function =
			&recording->functions[tables->sources[tables->functions.used[i]]];
		uint32_t number = function->start_line;

		if (!function->file || (!files && !number)) {
			json_null(json, NULL);
			continue;
		}
		if (files)
			number = string_number(tables, recording_string(recording, function->file));
		json_number(json, NULL, number);
	}
	json_close(json, ']');
}

static void write_functions(struct firefox_tables *tables, struct json *json)
{
	size_t nr = tables->functions.nr;

	json_open(json, "funcTable", '{');
	json_number(json, "length", nr);
	json_open(json, "name", '[');
	for (size_t i = 0; i < nr; i++) {
		const struct shown_function *shown = shown_of(tables, tables->functions.used[i]);

		json_number(json, NULL,
			    subset_number(&tables->strings, shown ? shown->text : tables->unknown));
	}
	json_close(json, ']');
	JSON_ARRAY(json, "isJS", nr, json_bool(json, NULL, false));
	JSON_ARRAY(json, "relevantForJS", nr, json_bool(json, NULL, false));
	write_resources_of(tables, json);
	write_sources(tables, json, "fileName", true);
	write_sources(tables, json, "lineNumber", false);
	JSON_ARRAY(json, "columnNumber", nr, json_null(json, NULL));
	json_close(json, '}');
}

static void write_resources(struct firefox_tables *tables, struct json *json)
{
	const struct recording *recording = tables->texts->recording;
	size_t nr = tables->objects.nr;

	json_open(json, "resourceTable", '{');
	json_number(json, "length", nr);
	JSON_COLUMN(json, "lib", nr, tables->objects.used[i] - 1);
	json_open(json, "name", '[');
	for (size_t i = 0; i < nr; i++) {
		uint32_t path = recording->objects[tables->objects.used[i]].path;

		json_number(
			json, NULL,
			string_number(tables, text_path_name(recording_string(recording, path))));
	}
	json_close(json, ']');
	JSON_ARRAY(json, "host", nr, json_null(json, NULL));
	JSON_COLUMN(json, "type", nr, RESOURCE_LIBRARY);
	json_close(json, '}');
}

static void write_strings(struct firefox_tables *tables, struct json *json)
{
	json_open(json, "stringArray", '[');
	for (size_t i = 0; i < tables->strings.nr; i++)
		json_string(json, NULL,
			    strings_text(&tables->texts->strings, tables->strings.used[i]));
	json_close(json, ']');
}

static void write_no_symbols(struct json *json)
{
	static const char *const columns[] = { "libIndex", "address", "name", "functionSize" };

	json_open(json, "nativeSymbols", '{');
	json_number(json, "length", 0);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		json_open(json, columns[i], '[');
		json_close(json, ']');
	}
	json_close(json, '}');
}

/* In the order of use: what refers to something numbers it. */
void firefox_tables_write(struct firefox_tables *tables, struct json *json)
{
	write_nodes(tables, json);
	write_frames(tables, json);
	write_functions(tables, json);
	write_resources(tables, json);
	write_no_symbols(json);
	write_strings(tables, json);
}
