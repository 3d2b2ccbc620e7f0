/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "parse/client.h"
#include "proc/mapset.h"
#include "profile/catalog.h"
#include "profile/object_table.h"
#include "profile/scan.h"

enum { OBJECTS_MAX = 65536 }; /* as profile has */

#define TABLES_MAX_BYTES (1ull << 30) /* of all tables: what comes later has none */

struct made_table {
	struct table *table; /* owned; NULL: no table */
	bool tried;
};

struct code {
	struct namer *namer;	     /* owned */
	struct catalog *catalog;     /* owned */
	struct parse_client *client; /* owned */
	struct mapset *set;	     /* owned reference; NULL: not read yet */
	struct made_table *tables;   /* owned [nr_tables]: by object id */
	size_t nr_tables, room_tables;
	uint64_t table_bytes; /* of all tables */
};

int code_open(struct parser *parser, struct code **ret, struct fpl_err *err)
{
	struct code *code = calloc(1, sizeof(*code));
	const struct namer_options options = { .parser = parser };
	int error = code ? namer_create(&options, &code->namer, err)
			 : fpl_fail(err, -ENOMEM, "out of memory");

	if (!error)
		error = catalog_create(OBJECTS_MAX, parser, &code->catalog, err);
	if (!error)
		error = client_open(parser, &code->client, err);
	if (error)
		code_close(code);
	else
		*ret = code;
	return error;
}

void code_close(struct code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->nr_tables; i++)
		table_destroy(code->tables[i].table);
	free(code->tables);
	if (code->set)
		mapset_put(code->set);
	client_close(code->client);
	namer_destroy(code->namer);
	catalog_destroy(code->catalog);
	free(code);
}

int code_scan(struct code *code, pid_t pid, struct fpl_err *err)
{
	struct scan scan;
	int error = scan_process(code->catalog, (uint32_t)pid, (uint32_t)pid, NULL, &scan, err);

	if (error)
		return error;
	if (code->set)
		mapset_put(code->set);
	code->set = scan.set;
	return 0;
}

const struct table *code_table(struct code *code, uint32_t id)
{
	const struct object *object = catalog_at(code->catalog, id);

	if (!object)
		return NULL;
	if (id >= code->nr_tables) {
		if (array_reserve(&code->tables, sizeof(*code->tables), &code->room_tables,
				  id + 1u))
			return NULL;
		memset(code->tables + code->nr_tables, 0,
		       (id + 1u - code->nr_tables) * sizeof(*code->tables));
		code->nr_tables = id + 1u;
	}

	struct made_table *made = &code->tables[id];

	if (!made->tried) {
		made->tried = true;
		if (code->table_bytes < TABLES_MAX_BYTES)
			made->table = object_table_make(code->client, object);
		code->table_bytes += made->table ? made->table->image_bytes : 0;
	}
	return made->table;
}

bool code_has_met(const struct code *code, uint32_t object)
{
	return object < code->nr_tables && code->tables[object].tried;
}

bool code_find(struct code *code, uint64_t addr, struct code_place *ret)
{
	const struct fpl_mapping *mapping = code->set ? mapset_find(code->set, addr) : NULL;

	*ret = (struct code_place){ .object = 0 };
	if (!mapping)
		return false;
	ret->object = mapping->object;
	ret->vaddr = addr - mapping->bias;
	if (mapping->object)
		ret->table = code_table(code, mapping->object);
	return true;
}

bool code_mapping(const struct code *code, size_t idx, uint64_t *ret_start, uint64_t *ret_end,
		  uint32_t *ret_object, uint64_t *ret_bias)
{
	if (!code->set || idx >= code->set->nr)
		return false;

	const struct fpl_mapping *mapping = &code->set->mappings[idx];

	*ret_start = mapping->start;
	*ret_end = mapping->end;
	*ret_object = mapping->object;
	*ret_bias = mapping->bias;
	return true;
}

const char *code_path(const struct code *code, uint32_t id)
{
	const struct object *object = catalog_at(code->catalog, id);

	return object ? object->path : "?";
}

void code_expect(struct code *code, uint32_t id, uint64_t vaddr)
{
	const struct object *object = catalog_at(code->catalog, id);
	struct met_file file;

	if (!object)
		return;
	file = object_file(object);
	if (!namer_add_object(code->namer, id, object->path, &file, NULL))
		namer_expect(code->namer, id, vaddr);
}

void code_symbol(struct code *code, uint32_t id, uint64_t vaddr, struct symbol *ret)
{
	code_expect(code, id, vaddr);
	namer_user(code->namer, id, vaddr, ret);
}
