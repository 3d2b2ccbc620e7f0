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

/* Has @table the same entry? *at: where entries that begin at or behind it are, from call to call
 * with ascending ones. */
static bool has_entry(const struct code_table *table, size_t *at, const struct code_entry *entry,
		      const char *name)
{
	while (*at < table->nr && table->entries[*at].start < entry->start)
		++*at;
	for (size_t i = *at; i < table->nr && table->entries[i].start == entry->start; i++)
		if (table->entries[i].end == entry->end &&
		    !strcmp(name_of(table, &table->entries[i]), name))
			return true;
	return false;
}

int jvm_codes_add(struct jvm_codes *codes, uint64_t gen, uint64_t time_ns, struct code_table *table,
		  size_t max_bytes, size_t *ret_nr)
{
	struct jvm_code *code = find_or_add(codes, gen, max_bytes);
	size_t at = 0;
	int rc = 0;

	*ret_nr = 0;
	if (!code) {
		code_table_fini(table);
		return -ENOMEM;
	}
	for (size_t i = 0; !rc && i < table->nr; i++) {
		const struct code_entry *entry = &table->entries[i];
		const char *name = name_of(table, entry);

		if (has_entry(&code->last, &at, entry, name))
			continue;
		rc = code_table_add(&code->all, entry->start, entry->end - entry->start,
				    code->read_ns, name, strlen(name));
		*ret_nr += !rc;
	}
	code_table_fini(&code->last);
	code->last = *table;
	*table = (struct code_table){ 0 };
	code->read_ns = time_ns;
	return rc;
}
