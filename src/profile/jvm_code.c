/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/jvm_code.h"

#include <errno.h>
#include <string.h>

void jvm_codes_fini(struct jvm_codes *codes)
{
	for (size_t i = 0; i < codes->images.nr; i++) {
		code_table_fini(&codes->images.list[i].last);
		code_table_fini(&codes->images.list[i].all);
	}
	vector_fini(&codes->images);
}

static struct jvm_code *find_or_add(struct jvm_codes *codes, uint64_t gen, size_t max_bytes)
{
	struct jvm_code *code;

	for (size_t i = 0; i < codes->images.nr; i++)
		if (codes->images.list[i].gen == gen)
			return &codes->images.list[i];
	if (vector_reserve(&codes->images, codes->images.nr + 1))
		return NULL;
	code = &codes->images.list[codes->images.nr++];
	*code = (struct jvm_code){ .gen = gen };
	code_table_init(&code->all, max_bytes);
	return code;
}

static const char *name_of(const struct code_table *table, const struct code_entry *entry)
{
	return entry->name_off == CODE_NO_NAME ? "" : table->names + entry->name_off;
}

/*
 * The entry of @table that is the same code as @entry; NULL: it has none. *at: where entries that
 * begin at or behind it are, from call to call with ascending ones.
 */
static const struct code_entry *find_same(const struct code_table *table, size_t *at,
					  const struct code_entry *entry, const char *name)
{
	while (*at < table->nr && table->entries[*at].start < entry->start)
		++*at;
	for (size_t i = *at; i < table->nr && table->entries[i].start == entry->start; i++)
		if (table->entries[i].end == entry->end &&
		    !strcmp(name_of(table, &table->entries[i]), name))
			return &table->entries[i];
	return NULL;
}

/* Add the lines of @entry of @table, which hold from @from_ns on, as long as its function does. */
static int add_lines(struct jvm_code *code, const struct code_table *table,
		     const struct code_entry *entry, uint64_t from_ns)
{
	struct code_lines lines = code_table_lines(table, entry);
	struct symbol_line list[SYMBOL_LINES_MAX];

	for (size_t i = 0; i < lines.nr; i++)
		list[i] = code_lines_at(&lines, i);
	return code_table_add_lines(&code->all, entry->start, entry->function, from_ns, list,
				    lines.nr);
}

/* Take in what is new in @table, whose entries ascend, those of a function before what is inlined
 * in it; and say in it from when on each is known. */
static int add_new(struct jvm_code *code, struct code_table *table, size_t *ret_nr)
{
	uint64_t function_ns = 0, function = 0;
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < table->nr; i++) {
		struct code_entry *entry = &table->entries[i];
		const char *name = name_of(table, entry);
		const struct code_entry *same;

		if (entry->nr_lines) {
			if (entry->function == function)
				rc = add_lines(code, table, entry, function_ns);
			continue;
		}
		same = find_same(&code->last, &at, entry, name);
		entry->from_ns = same ? same->from_ns : code->read_ns;
		function = entry->start;
		function_ns = entry->from_ns;
		if (same)
			continue;
		rc = code_table_add(&code->all, entry->start, entry->end - entry->start,
				    entry->from_ns, name, strlen(name));
		*ret_nr += !rc;
	}
	return rc;
}

int jvm_codes_add(struct jvm_codes *codes, uint64_t gen, uint64_t time_ns, struct code_table *table,
		  size_t max_bytes, size_t *ret_nr)
{
	struct jvm_code *code = find_or_add(codes, gen, max_bytes);
	int rc;

	*ret_nr = 0;
	if (!code) {
		code_table_fini(table);
		return -ENOMEM;
	}
	rc = add_new(code, table, ret_nr);
	code_table_fini(&code->last);
	code->last = *table;
	*table = (struct code_table){ 0 };
	code->read_ns = time_ns;
	return rc;
}
