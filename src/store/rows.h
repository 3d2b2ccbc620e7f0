/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of numbers that windows refer to: texts, objects, functions, nodes of the tree of calls,
 * series, runs. Each table is in memory as it is in the store; equal rows are one. A row's id is
 * that of the store, which ids of rows that went are given again in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"

enum rows_table {
	ROWS_STRING,
	ROWS_OBJECT,
	ROWS_FUNCTION,
	ROWS_NODE,
	ROWS_SERIES,
	ROWS_SOURCE,
	ROWS_RUN,
	ROWS_TABLES
};

enum { ROWS_COLUMNS_MAX = 12, ROWS_TEXT_MAX = 1 << 16 };

/* Columns, in the order of a row's cells. */
enum { OBJECT_PATH, OBJECT_BUILD_ID, OBJECT_OFFSETS, OBJECT_BIAS, OBJECT_COLUMNS };
enum {
	FUNCTION_OBJECT,
	FUNCTION_NAME, /* 0: it has none */
	FUNCTION_FILE,
	FUNCTION_LINE,
	FUNCTION_START, /* RECORDING_NO_ADDRESS: not known */
	FUNCTION_KIND,	/* enum rows_kind */
	FUNCTION_ORIGIN,
	FUNCTION_COLUMNS
};
enum { NODE_PARENT, NODE_FUNCTION, NODE_COLUMNS };
enum {
	SERIES_COMM,
	SERIES_CGROUP,
	SERIES_KEY,
	SERIES_HAS,
	SERIES_STATE,
	SERIES_SOURCE,
	SERIES_COLUMNS
};
enum {
	SOURCE_EVENT,
	SOURCE_HZ,
	SOURCE_PERIOD,
	SOURCE_WEIGHT_TYPE,
	SOURCE_WEIGHT_UNIT,
	SOURCE_NEXT, /* of the same run; 0: it is the last */
	SOURCE_COLUMNS
};
enum {
	RUN_LABELS,
	RUN_KERNEL,
	RUN_CPUS,
	RUN_SAMPLE_TYPE,
	RUN_SAMPLE_UNIT,
	RUN_KEY,
	RUN_SOURCE, /* the first */
	RUN_COLUMNS
};

/* FUNCTION_KIND */
enum { FUNCTION_OF_USER, FUNCTION_OF_KERNEL, FUNCTION_INLINED, FUNCTION_INLINED_KERNEL };

/* A column and its bounds. */
struct rows_column {
	const char *name;
	enum rows_table of; /* with refers: an id of that table */
	bool refers;
	bool needed;  /* it is not 0 */
	uint64_t max; /* without refers; UINT64_MAX: any number of 64 bits */
};

/* How a table looks. Of ROWS_STRING a text takes the place of columns. */
struct rows_shape {
	const char *name;
	uint32_t ids_max; /* ids are below */
	size_t nr_columns;
	struct rows_column columns[ROWS_COLUMNS_MAX];
};

extern const struct rows_shape rows_shapes[ROWS_TABLES];

/* A table. Id 0 is no row: "nothing", of texts "", of nodes the root. */
struct rows {
	const struct rows_shape *shape;
	VECTOR(uint64_t) cells; /* [ids * shape->nr_columns] */
	VECTOR(char *) texts;	/* of ROWS_STRING, each owned; NULL: no row */
	VECTOR(uint8_t) used;	/* [ids] */
	VECTOR(uint32_t) fresh; /* ids that the store does not have yet */
	struct id_table ids;	/* private */
	uint32_t lowest;	/* private: ids up to here are used */
	size_t nr;
};

struct dictionary {
	struct rows tables[ROWS_TABLES];
	bool no_index; /* rows are placed alone: none is looked for */
};

void dictionary_init(struct dictionary *dictionary);
void dictionary_fini(struct dictionary *dictionary);

/* Is @id one of the table's, or 0? */
static inline bool rows_has(const struct dictionary *dictionary, enum rows_table table, uint64_t id)
{
	const struct rows *rows = &dictionary->tables[table];

	return !id || (id < rows->used.nr && rows->used.list[id]);
}

/* The cells of row @id, which is there. */
static inline const uint64_t *rows_cells(const struct dictionary *dictionary, enum rows_table table,
					 uint32_t id)
{
	const struct rows *rows = &dictionary->tables[table];

	return &rows->cells.list[(size_t)id * rows->shape->nr_columns];
}

/* A text; owned by the dictionary. */
static inline const char *rows_text(const struct dictionary *dictionary, uint64_t id)
{
	return id ? dictionary->tables[ROWS_STRING].texts.list[id] : "";
}

/*
 * The id of the row like @cells, made at first sight; where it refers to one of its own table it is
 * beyond that. Errors: -E2BIG the table is full. Cost: O(1); for such a row that is new O(ids)
 * where ids are given again.
 */
FPL_MUST_CHECK int rows_add(struct dictionary *dictionary, enum rows_table table,
			    const uint64_t *cells, uint32_t *ret);

/* The same of a text, of which at most ROWS_TEXT_MAX bytes are kept. */
FPL_MUST_CHECK int rows_add_text(struct dictionary *dictionary, const char *text, uint32_t *ret);

/*
 * Put a row that the store has in its place. Errors: -EBADMSG it cannot be: @id is beyond what a
 * table has or taken, or a cell beyond its bounds. What cells refer to is left to rows_check().
 */
FPL_MUST_CHECK int rows_place(struct dictionary *dictionary, enum rows_table table, uint64_t id,
			      const uint64_t *cells, const char *text);

/* Let row @id go, which is there and nothing refers to. What finds it stays: place all rows anew
 * now and then. */
void rows_remove(struct dictionary *dictionary, enum rows_table table, uint32_t id);

/* All rows are placed: does each refer to rows that are there, and nodes to nodes before them?
 * NULL: yes; else the name of the table that is wrong. */
const char *rows_check(const struct dictionary *dictionary);

/* A number that tells rows apart, for the store to know a damaged one by. */
uint32_t rows_digest(const struct rows_shape *shape, uint32_t id, const uint64_t *cells,
		     const char *text);

/* Marks of rows that are in use, by table and id. */
struct rows_marks {
	VECTOR(uint8_t) of[ROWS_TABLES];
};

void rows_mark(struct rows_marks *marks, enum rows_table table, uint32_t id);
void rows_marks_fini(struct rows_marks *marks);

/* Mark what marked rows refer to, too. */
void rows_mark_all(struct rows_marks *marks, const struct dictionary *dictionary);
static inline bool rows_is_marked(const struct rows_marks *marks, enum rows_table table,
				  uint32_t id)
{
	return id < marks->of[table].nr && marks->of[table].list[id];
}
