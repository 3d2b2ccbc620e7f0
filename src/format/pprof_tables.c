/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_tables.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/must_add.h"

void pprof_tables_init(struct pprof_tables *tables, struct recording *recording)
{
	*tables = (struct pprof_tables){ .recording = recording };
}

void pprof_tables_fini(struct pprof_tables *tables)
{
	vector_fini(&tables->texts);
	vector_fini(&tables->functions);
	vector_fini(&tables->objects);
	vector_fini(&tables->locations);
	vector_fini(&tables->lines);
	id_table_fini(&tables->function_ids);
	id_table_fini(&tables->object_ids);
	id_table_fini(&tables->location_ids);
}

size_t pprof_tables_bytes(const struct pprof_tables *tables)
{
	return vector_bytes(&tables->texts) + vector_bytes(&tables->functions) +
	       vector_bytes(&tables->objects) + vector_bytes(&tables->locations) +
	       vector_bytes(&tables->lines) + id_table_bytes(&tables->function_ids) +
	       id_table_bytes(&tables->object_ids) + id_table_bytes(&tables->location_ids);
}

static uint64_t hash_id(uint64_t id)
{
	return id_table_hash(0, &id, sizeof(id));
}

/* The entry of @vector with @wanted as its id; nearly every writer numbers from 1. NULL: none. */
#define FIND(vector, ids, wanted)                                              \
	({                                                                     \
		uint64_t wanted_id = (wanted);                                 \
		uint32_t at = (uint32_t)(wanted_id - 1);                       \
                                                                               \
		if (!wanted_id || wanted_id > (vector)->nr ||                  \
		    (vector)->list[wanted_id - 1].id != wanted_id)             \
			at = ID_TABLE_FIND(ids, hash_id(wanted_id), i,         \
					   (vector)->list[i].id == wanted_id); \
		at == ID_TABLE_NONE ? NULL : &(vector)->list[at];              \
	})

/* Append @entry, unless that cannot be referred to. */
#define ADD(tables, vector, ids, entry)                                                      \
	do {                                                                                 \
		if (!(entry).id || FIND(vector, ids, (entry).id)) {                          \
			(tables)->duplicate++;                                               \
			break;                                                               \
		}                                                                            \
		if ((entry).id - 1 != (vector)->nr)                                          \
			must_id_table_add(ids, hash_id((entry).id), (uint32_t)(vector)->nr); \
		must_push(vector, entry);                                                    \
	} while (0)

struct pprof_function *pprof_tables_function(const struct pprof_tables *tables, uint64_t id)
{
	return FIND(&tables->functions, &tables->function_ids, id);
}

struct pprof_object *pprof_tables_object(const struct pprof_tables *tables, uint64_t id)
{
	return FIND(&tables->objects, &tables->object_ids, id);
}

struct pprof_location *pprof_tables_location(const struct pprof_tables *tables, uint64_t id)
{
	return FIND(&tables->locations, &tables->location_ids, id);
}

/* @bytes as a text of the recording, where a text ends with a NUL: one within is escaped. */
static uint32_t intern(struct pprof_tables *tables, const void *bytes, size_t size)
{
	const char *from = bytes;
	AUTO_FREE char *text = must_malloc(4 * size + 1);
	char *to = text;

	for (size_t i = 0; i < size; i++) {
		if (from[i])
			*to++ = from[i];
		else
			to = stpcpy(to, "\\x00");
	}
	*to = '\0';
	return must_add_text(tables->recording, text);
}

void pprof_tables_add_text(struct pprof_tables *tables, const void *bytes, size_t size)
{
	must_push(&tables->texts, intern(tables, bytes, size));
}

void pprof_tables_set_text(struct pprof_tables *tables, int64_t index, const void *bytes,
			   size_t size)
{
	if (pprof_tables_has_text(tables, index))
		tables->texts.list[index] = intern(tables, bytes, size);
	else
		tables->dangling++;
}

/* Lines and columns beyond 32 bits are not known. */
static uint32_t to_line(int64_t line)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

void pprof_tables_add_function(struct pprof_tables *tables, const Pprof__Function *function)
{
	const struct pprof_function entry = {
		.id = function->id,
		.name = function->name,
		.system_name = function->system_name,
		.file = function->filename,
		.start_line = to_line(function->start_line),
	};

	ADD(tables, &tables->functions, &tables->function_ids, entry);
}

void pprof_tables_add_mapping(struct pprof_tables *tables, const Pprof__Mapping *mapping)
{
	const struct pprof_object entry = {
		.id = mapping->id,
		.start = mapping->memory_start,
		.offset = mapping->file_offset,
		.bias = mapping->bias,
		.file = mapping->filename,
		.build_id = mapping->build_id,
		.has_bias = mapping->has_bias,
		.offsets = mapping->offsets,
		.has_range = mapping->memory_limit > mapping->memory_start,
	};

	ADD(tables, &tables->objects, &tables->object_ids, entry);
}

void pprof_tables_add_location(struct pprof_tables *tables, const Pprof__Location *location)
{
	/* of more lines than there is room for, the function itself and what is closest to it */
	size_t nr_lines = location->unnamed ? 0 : location->n_line;
	size_t nr = nr_lines < RECORDING_LINES_MAX ? nr_lines : RECORDING_LINES_MAX;
	size_t first = nr_lines - nr;
	const struct pprof_location entry = {
		.id = location->id,
		.mapping = location->mapping_id,
		.address = location->address,
		.start_distance = location->start_distance,
		.first_line = tables->lines.nr,
		.nr_lines = (uint8_t)nr,
		.has_start = location->has_start,
		.has_address = location->address || location->at_zero,
	};

	for (size_t i = 0; i < nr; i++) {
		const Pprof__Line *line = location->line[first + i];

		must_push(&tables->lines, { .function = line->function_id,
					    .line = to_line(line->line),
					    .column = to_line(line->column) });
	}
	ADD(tables, &tables->locations, &tables->location_ids, entry);
}
