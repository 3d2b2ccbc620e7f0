/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

void pprof_tables_init(struct pprof_tables *tables, struct recording *recording)
{
	*tables = (struct pprof_tables){ .recording = recording };
}

static void list_fini(struct pprof_list *list)
{
	free(list->entries);
	id_table_fini(&list->by_id);
}

void pprof_tables_fini(struct pprof_tables *tables)
{
	list_fini(&tables->functions);
	list_fini(&tables->objects);
	list_fini(&tables->locations);
	free(tables->texts);
	free(tables->lines);
	*tables = (struct pprof_tables){ 0 };
}

static size_t list_bytes(const struct pprof_list *list, size_t size)
{
	return list->room * size + list->by_id.nr_slots * sizeof(*list->by_id.slots);
}

size_t pprof_tables_bytes(const struct pprof_tables *tables)
{
	return list_bytes(&tables->functions, sizeof(struct pprof_function)) +
	       list_bytes(&tables->objects, sizeof(struct pprof_object)) +
	       list_bytes(&tables->locations, sizeof(struct pprof_location)) +
	       tables->room_texts * sizeof(*tables->texts) +
	       tables->room_lines * sizeof(*tables->lines);
}

struct list_ctx {
	const struct pprof_list *list;
	size_t size;
};

static uint64_t id_at(const struct pprof_list *list, size_t size, size_t index)
{
	uint64_t id;

	memcpy(&id, (const char *)list->entries + index * size, sizeof(id));
	return id;
}

static bool id_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct list_ctx *at = ctx;

	return id_at(at->list, at->size, index) == *(const uint64_t *)key;
}

/* The index of the entry with @id; ID_TABLE_NONE: there is none. */
static uint32_t list_find(const struct pprof_list *list, size_t size, uint64_t id)
{
	const struct list_ctx ctx = { list, size };

	/* nearly every writer numbers from 1 */
	if (id && id - 1 < list->nr && id_at(list, size, id - 1) == id)
		return (uint32_t)(id - 1);
	return id_table_find(&list->by_id, id_table_hash(0, &id, sizeof(id)), id_equals, &ctx, &id);
}

/* Append @entry, whose first member is its id, unless that cannot be referred to. */
static int list_add(struct pprof_tables *tables, struct pprof_list *list, const void *entry,
		    size_t size)
{
	uint64_t id;

	memcpy(&id, entry, sizeof(id));
	if (!id || list_find(list, size, id) != ID_TABLE_NONE) {
		tables->duplicate++;
		return 0;
	}
	if (list->nr >= ID_TABLE_NONE ||
	    array_reserve(&list->entries, size, &list->room, list->nr + 1))
		return -ENOMEM;
	if (id - 1 != list->nr &&
	    id_table_add(&list->by_id, id_table_hash(0, &id, sizeof(id)), (uint32_t)list->nr))
		return -ENOMEM;
	memcpy((char *)list->entries + list->nr++ * size, entry, size);
	return 0;
}

/* @bytes as a text of the recording, where a text ends with a NUL: one within is escaped. */
static int intern(struct pprof_tables *tables, const void *bytes, size_t size, uint32_t *ret)
{
	const char *from = bytes;
	AUTO_FREE char *text = malloc(4 * size + 1);
	char *to = text;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++) {
		if (from[i])
			*to++ = from[i];
		else
			to = stpcpy(to, "\\x00");
	}
	*to = '\0';
	return recording_add_text(tables->recording, text, ret);
}

int pprof_tables_add_text(struct pprof_tables *tables, const void *bytes, size_t size)
{
	if (array_reserve(&tables->texts, sizeof(*tables->texts), &tables->room_texts,
			  tables->nr_texts + 1) ||
	    intern(tables, bytes, size, &tables->texts[tables->nr_texts]))
		return -ENOMEM;
	tables->nr_texts++;
	return 0;
}

int pprof_tables_set_text(struct pprof_tables *tables, int64_t index, const void *bytes,
			  size_t size)
{
	if (!pprof_tables_has_text(tables, index)) {
		tables->dangling++;
		return 0;
	}
	return intern(tables, bytes, size, &tables->texts[index]);
}

/* Lines and columns beyond are nobody's. */
static uint32_t to_line(int64_t line)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

int pprof_tables_add_function(struct pprof_tables *tables, const Pprof__Function *function)
{
	const struct pprof_function entry = {
		.id = function->id,
		.name = function->name,
		.system_name = function->system_name,
		.file = function->filename,
		.start_line = to_line(function->start_line),
	};

	return list_add(tables, &tables->functions, &entry, sizeof(entry));
}

int pprof_tables_add_mapping(struct pprof_tables *tables, const Pprof__Mapping *mapping)
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

	return list_add(tables, &tables->objects, &entry, sizeof(entry));
}

int pprof_tables_add_location(struct pprof_tables *tables, const Pprof__Location *location)
{
	/* of more lines than there is room for, the function itself and what is closest to it */
	size_t nr = location->n_line < RECORDING_LINES_MAX ? location->n_line : RECORDING_LINES_MAX;
	size_t first = location->n_line - nr;
	const struct pprof_location entry = {
		.id = location->id,
		.mapping = location->mapping_id,
		.address = location->address,
		.start_distance = location->start_distance,
		.first_line = tables->nr_lines,
		.nr_lines = (uint8_t)nr,
		.has_start = location->has_start,
		.has_address = location->address || location->at_zero,
	};

	for (size_t i = 0; i < nr; i++) {
		if (array_reserve(&tables->lines, sizeof(*tables->lines), &tables->room_lines,
				  tables->nr_lines + 1))
			return -ENOMEM;
		tables->lines[tables->nr_lines++] = (struct pprof_line){
			.function = location->line[first + i]->function_id,
			.line = to_line(location->line[first + i]->line),
			.column = to_line(location->line[first + i]->column),
		};
	}
	return list_add(tables, &tables->locations, &entry, sizeof(entry));
}

static void *list_entry(const struct pprof_list *list, size_t size, uint64_t id)
{
	uint32_t index = list_find(list, size, id);

	return index == ID_TABLE_NONE ? NULL : (char *)list->entries + index * size;
}

struct pprof_function *pprof_tables_function(struct pprof_tables *tables, uint64_t id)
{
	return list_entry(&tables->functions, sizeof(struct pprof_function), id);
}

struct pprof_object *pprof_tables_object(struct pprof_tables *tables, uint64_t id)
{
	return list_entry(&tables->objects, sizeof(struct pprof_object), id);
}

struct pprof_location *pprof_tables_location(struct pprof_tables *tables, uint64_t id)
{
	return list_entry(&tables->locations, sizeof(struct pprof_location), id);
}
