/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that the samples of a pprof refer to, found by its ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_table.h"
#include "base/vector.h"
#include "pprof.pb-c.h"
#include "format/pprof_rules.h"
#include "recording/recording.h"

struct pprof_function {
	uint64_t id;
	int64_t name, system_name, file; /* texts */
	uint32_t start_line;
	uint32_t function; /* of the recording, + 1; 0: not made yet */
};

struct pprof_object {
	uint64_t id;
	uint64_t start, offset, bias;
	int64_t file, build_id; /* texts */
	bool has_bias, has_range, offsets;
	uint32_t objects[2]; /* of the recording by recording_kind, + 1; 0: not made yet */
};

struct pprof_line {
	uint64_t function; /* id; of a location that is known: index in the recording */
	uint32_t line, column;
};

struct pprof_location {
	uint64_t id, mapping, address;
	int64_t start_distance;
	size_t first_line; /* lines[first_line .. + nr_lines) */
	uint8_t nr_lines;
	bool has_start, has_address;
	bool known;		    /* what it refers to has been found */
	bool kernel;		    /* it looks like that */
	uint32_t object;	    /* index of its mapping + 1; 0: none */
	uint32_t frame;		    /* of the recording: the last one made of it, + 1; 0: none */
	struct pprof_run frame_run; /* what that one was */
};

/* Entries have an id of the file's choice; the first of equals counts. */
struct pprof_tables {
	struct recording *recording; /* borrowed */
	VECTOR(uint32_t) texts;	     /* of the recording */
	VECTOR(struct pprof_function) functions;
	VECTOR(struct pprof_object) objects;
	VECTOR(struct pprof_location) locations;
	VECTOR(struct pprof_line) lines;
	/* private: of entries whose id is not their index + 1 */
	struct id_table function_ids, object_ids, location_ids;
	bool own;	    /* fpless wrote it */
	uint64_t dangling;  /* references to what is not there */
	uint64_t duplicate; /* ids given twice, or 0 */
};

void pprof_tables_init(struct pprof_tables *tables, struct recording *recording);
void pprof_tables_fini(struct pprof_tables *tables);

/* Memory it takes. Cost: O(1). */
size_t pprof_tables_bytes(const struct pprof_tables *tables);

void pprof_tables_add_text(struct pprof_tables *tables, const void *bytes, size_t size);

/* The bytes of text @index, in place of what string_table has. */
void pprof_tables_set_text(struct pprof_tables *tables, int64_t index, const void *bytes,
			   size_t size);
void pprof_tables_add_function(struct pprof_tables *tables, const Pprof__Function *function);
void pprof_tables_add_mapping(struct pprof_tables *tables, const Pprof__Mapping *mapping);
void pprof_tables_add_location(struct pprof_tables *tables, const Pprof__Location *location);

static inline bool pprof_tables_has_text(const struct pprof_tables *tables, int64_t index)
{
	return index >= 0 && (uint64_t)index < tables->texts.nr;
}

/* The text of the recording; 0, "", where the file has none. */
static inline uint32_t pprof_tables_text(const struct pprof_tables *tables, int64_t index)
{
	return pprof_tables_has_text(tables, index) ? tables->texts.list[index] : 0;
}

/* The entry with that id; NULL: not in the table. Valid until the next of its kind is added. */
struct pprof_function *pprof_tables_function(const struct pprof_tables *tables, uint64_t id);
struct pprof_object *pprof_tables_object(const struct pprof_tables *tables, uint64_t id);
struct pprof_location *pprof_tables_location(const struct pprof_tables *tables, uint64_t id);
