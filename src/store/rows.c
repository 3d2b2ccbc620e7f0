/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/recording.h"

#define TEXT(column)                                                \
	{                                                           \
		.name = (column), .of = ROWS_STRING, .refers = true \
	}
#define ID(column, table)                                       \
	{                                                       \
		.name = (column), .of = (table), .refers = true \
	}
#define NEEDED(column, table)                                                   \
	{                                                                       \
		.name = (column), .of = (table), .refers = true, .needed = true \
	}
#define NUMBER(column, greatest)                    \
	{                                           \
		.name = (column), .max = (greatest) \
	}

const struct rows_shape rows_shapes[ROWS_TABLES] = {
	[ROWS_STRING] = { "string", 1u << 24, 0, { { .name = NULL } } },
	[ROWS_OBJECT] = { "object",
			  1u << 22,
			  OBJECT_COLUMNS,
			  { [OBJECT_PATH] = TEXT("path"),
			    [OBJECT_BUILD_ID] = TEXT("build_id"),
			    [OBJECT_OFFSETS] = NUMBER("offsets", 1),
			    [OBJECT_BIAS] = NUMBER("bias", UINT64_MAX) } },
	[ROWS_FUNCTION] = { "function",
			    1u << 24,
			    FUNCTION_COLUMNS,
			    { [FUNCTION_OBJECT] = ID("object", ROWS_OBJECT),
			      [FUNCTION_NAME] = TEXT("name"),
			      [FUNCTION_FILE] = TEXT("file"),
			      [FUNCTION_LINE] = NUMBER("line", UINT32_MAX),
			      [FUNCTION_START] = NUMBER("start", UINT64_MAX),
			      [FUNCTION_KIND] = NUMBER("kind", FUNCTION_INLINED_KERNEL),
			      [FUNCTION_ORIGIN] = NUMBER("origin", UINT8_MAX) } },
	[ROWS_NODE] = { "node",
			1u << 24,
			NODE_COLUMNS,
			{ [NODE_PARENT] = ID("parent", ROWS_NODE),
			  [NODE_FUNCTION] = NEEDED("function", ROWS_FUNCTION) } },
	[ROWS_SERIES] = { "series",
			  1u << 22,
			  SERIES_COLUMNS,
			  { [SERIES_COMM] = TEXT("comm"),
			    [SERIES_CGROUP] = TEXT("cgroup"),
			    [SERIES_KEY] = TEXT("key"),
			    [SERIES_HAS] = NUMBER("has", UINT8_MAX),
			    [SERIES_STATE] = NUMBER("state", RECORDING_STATE_COUNT - 1),
			    [SERIES_SOURCE] = NUMBER("source", RECORDING_SOURCES_MAX - 1) } },
	[ROWS_SOURCE] = { "source",
			  1u << 20,
			  SOURCE_COLUMNS,
			  { [SOURCE_EVENT] = TEXT("event"),
			    [SOURCE_HZ] = NUMBER("hz", UINT64_MAX),
			    [SOURCE_PERIOD] = NUMBER("period", UINT64_MAX),
			    [SOURCE_WEIGHT_TYPE] = TEXT("weight_type"),
			    [SOURCE_WEIGHT_UNIT] = TEXT("weight_unit"),
			    [SOURCE_NEXT] = ID("next", ROWS_SOURCE) } },
	[ROWS_RUN] = { "run",
		       1u << 20,
		       RUN_COLUMNS,
		       { [RUN_LABELS] = TEXT("labels"),
			 [RUN_KERNEL] = TEXT("kernel"),
			 [RUN_CPUS] = NUMBER("cpus", UINT32_MAX),
			 [RUN_SAMPLE_TYPE] = TEXT("sample_type"),
			 [RUN_SAMPLE_UNIT] = TEXT("sample_unit"),
			 [RUN_KEY] = TEXT("key"),
			 [RUN_SOURCE] = NEEDED("source", ROWS_SOURCE) } },
};

void dictionary_init(struct dictionary *dictionary)
{
	*dictionary = (struct dictionary){ 0 };
	for (size_t i = 0; i < ROWS_TABLES; i++) {
		struct rows *rows = &dictionary->tables[i];

		rows->shape = &rows_shapes[i];
		must_push(&rows->used, 1);
		for (size_t j = 0; j < rows->shape->nr_columns; j++)
			must_push(&rows->cells, 0);
		if (i == ROWS_STRING)
			must_push(&rows->texts, NULL);
	}
}

void dictionary_fini(struct dictionary *dictionary)
{
	for (size_t i = 0; i < ROWS_TABLES; i++) {
		struct rows *rows = &dictionary->tables[i];

		for (size_t j = 0; j < rows->texts.nr; j++)
			free(rows->texts.list[j]);
		vector_fini(&rows->texts);
		vector_fini(&rows->cells);
		vector_fini(&rows->used);
		vector_fini(&rows->fresh);
		id_table_fini(&rows->ids);
	}
}

static uint64_t hash_of(const struct rows_shape *shape, const uint64_t *cells, const char *text)
{
	return text ? id_table_hash(1, text, strlen(text))
		    : id_table_hash(2, cells, shape->nr_columns * sizeof(*cells));
}

static bool equals(const struct rows *rows, uint32_t id, const uint64_t *cells, const char *text)
{
	size_t nr = rows->shape->nr_columns;

	/* the index has rows that are gone, too */
	if (!rows->used.list[id])
		return false;
	return text ? !strcmp(rows->texts.list[id], text)
		    : !memcmp(&rows->cells.list[id * nr], cells, nr * sizeof(*cells));
}

/* Make room for row @id. */
static void reach(struct rows *rows, uint32_t id)
{
	size_t nr = rows->shape->nr_columns, before = rows->used.nr, after = (size_t)id + 1;

	if (after <= before)
		return;
	must_reserve(&rows->used, after);
	memset(&rows->used.list[before], 0, after - before);
	rows->used.nr = after;
	must_reserve(&rows->cells, after * nr);
	if (nr)
		memset(&rows->cells.list[before * nr], 0,
		       (after - before) * nr * sizeof(*rows->cells.list));
	rows->cells.nr = after * nr;
	while (rows->shape == &rows_shapes[ROWS_STRING] && rows->texts.nr < after)
		must_push(&rows->texts, NULL);
}

static void put(struct rows *rows, uint32_t id, const uint64_t *cells, const char *text, bool index)
{
	size_t nr = rows->shape->nr_columns;

	reach(rows, id);
	rows->used.list[id] = 1;
	rows->nr++;
	if (nr)
		memcpy(&rows->cells.list[id * nr], cells, nr * sizeof(*cells));
	if (text)
		rows->texts.list[id] = must_strdup(text);
	if (index)
		must_id_table_add(&rows->ids, hash_of(rows->shape, cells, text), id);
}

/* The first id that is free, beyond @above. */
static uint32_t free_id(struct rows *rows, uint32_t above)
{
	uint32_t id;

	while (rows->lowest + 1 < rows->used.nr && rows->used.list[rows->lowest + 1])
		rows->lowest++;
	id = (above > rows->lowest ? above : rows->lowest) + 1;
	while (id < rows->used.nr && rows->used.list[id])
		id++;
	return id;
}

static int add(struct rows *rows, const uint64_t *cells, const char *text, uint32_t above,
	       uint32_t *ret)
{
	uint64_t hash = hash_of(rows->shape, cells, text);

	*ret = ID_TABLE_FIND(&rows->ids, hash, i, equals(rows, i, cells, text));
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = free_id(rows, above);
	if (*ret >= rows->shape->ids_max)
		return -E2BIG;
	put(rows, *ret, cells, text, true);
	must_push(&rows->fresh, *ret);
	return 0;
}

int rows_add(struct dictionary *dictionary, enum rows_table table, const uint64_t *cells,
	     uint32_t *ret)
{
	const struct rows_shape *shape = &rows_shapes[table];
	uint32_t above = 0;

	for (size_t i = 0; i < shape->nr_columns; i++)
		if (shape->columns[i].refers && shape->columns[i].of == table)
			above = (uint32_t)cells[i];
	return add(&dictionary->tables[table], cells, NULL, above, ret);
}

int rows_add_text(struct dictionary *dictionary, const char *text, uint32_t *ret)
{
	AUTO_FREE char *cut = NULL;

	*ret = 0;
	if (!*text)
		return 0;
	if (strlen(text) > ROWS_TEXT_MAX) {
		cut = must_strdup(text);
		cut[ROWS_TEXT_MAX] = '\0';
		text = cut;
	}
	return add(&dictionary->tables[ROWS_STRING], NULL, text, 0, ret);
}

int rows_place(struct dictionary *dictionary, enum rows_table table, uint64_t id,
	       const uint64_t *cells, const char *text)
{
	struct rows *rows = &dictionary->tables[table];
	const struct rows_shape *shape = rows->shape;

	if (!id || id >= shape->ids_max || (id < rows->used.nr && rows->used.list[id]))
		return -EBADMSG;
	if (table == ROWS_STRING && (!text || !*text || strlen(text) > ROWS_TEXT_MAX))
		return -EBADMSG;
	for (size_t i = 0; i < shape->nr_columns; i++) {
		const struct rows_column *column = &shape->columns[i];
		uint64_t most = column->refers ? rows_shapes[column->of].ids_max : column->max;

		if (cells[i] > most || (column->needed && !cells[i]))
			return -EBADMSG;
	}
	put(rows, (uint32_t)id, cells, text, !dictionary->no_index);
	return 0;
}

void rows_remove(struct dictionary *dictionary, enum rows_table table, uint32_t id)
{
	struct rows *rows = &dictionary->tables[table];

	rows->used.list[id] = 0;
	rows->nr--;
	if (id <= rows->lowest)
		rows->lowest = id - 1;
	if (table == ROWS_STRING) {
		free(rows->texts.list[id]);
		rows->texts.list[id] = NULL;
	}
}

static bool refers_well(const struct dictionary *dictionary, enum rows_table table, uint32_t id)
{
	const struct rows_shape *shape = &rows_shapes[table];
	const uint64_t *cells = rows_cells(dictionary, table, id);

	for (size_t i = 0; i < shape->nr_columns; i++) {
		const struct rows_column *column = &shape->columns[i];

		/* a row of its own table is before it, so no path is endless */
		if (column->refers && (!rows_has(dictionary, column->of, cells[i]) ||
				       (column->of == table && cells[i] >= id)))
			return false;
	}
	return true;
}

const char *rows_check(const struct dictionary *dictionary)
{
	for (unsigned table = 0; table < ROWS_TABLES; table++) {
		const struct rows *rows = &dictionary->tables[table];

		for (uint32_t id = 1; id < rows->used.nr; id++)
			if (rows->used.list[id] && !refers_well(dictionary, table, id))
				return rows->shape->name;
	}
	return NULL;
}

uint32_t rows_digest(const struct rows_shape *shape, uint32_t id, const uint64_t *cells,
		     const char *text)
{
	return (uint32_t)(id_table_hash(hash_of(shape, cells, text), &id, sizeof(id)) >> 33);
}

void rows_mark(struct rows_marks *marks, enum rows_table table, uint32_t id)
{
	size_t before = marks->of[table].nr;

	if (id >= before) {
		must_reserve(&marks->of[table], (size_t)id + 1);
		memset(&marks->of[table].list[before], 0, id + 1 - before);
		marks->of[table].nr = (size_t)id + 1;
	}
	marks->of[table].list[id] = 1;
}

void rows_marks_fini(struct rows_marks *marks)
{
	for (size_t i = 0; i < ROWS_TABLES; i++)
		vector_fini(&marks->of[i]);
}

/* Rows refer to tables before theirs, and to rows before them: one pass backwards is enough. */
void rows_mark_all(struct rows_marks *marks, const struct dictionary *dictionary)
{
	for (unsigned table = ROWS_TABLES; table-- > 0;) {
		const struct rows_shape *shape = &rows_shapes[table];

		for (size_t id = marks->of[table].nr; id-- > 1;) {
			if (!rows_is_marked(marks, table, (uint32_t)id) ||
			    !rows_has(dictionary, table, id))
				continue;

			const uint64_t *cells = rows_cells(dictionary, table, (uint32_t)id);

			for (size_t i = 0; i < shape->nr_columns; i++)
				if (shape->columns[i].refers)
					rows_mark(marks, shape->columns[i].of, (uint32_t)cells[i]);
		}
	}
}
