/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"

enum {
	HEADER_SIZE = 72,
	/* of struct moduledata */
	MODULE_TABLE = 0, /* addresses of the table, and of its names */
	MODULE_NAMES = 8,
	MODULE_TEXT = 176,
	MODULE_DATA_118 = 304,
	MODULE_DATA = 320, /* since Go 1.20 */
	MODULE_SIZE = 328,
	MODULE_SECTION_MOST = 16 << 20, /* bytes of data in which it is searched for */
};

void go_table_fini(struct go_table *table)
{
	free(table->section);
	*table = (struct go_table){ .size = 0 };
}

uint32_t go_table_u32(const struct go_table *table, uint64_t off)
{
	uint32_t value = 0;

	if (off <= table->size - sizeof(value))
		memcpy(&value, table->bytes + off, sizeof(value));
	return value;
}

static bool read_header(const uint8_t *bytes, size_t size, struct go_table *ret)
{
	static const uint8_t fixed[4] = { 0, 0, 1, 8 }; /* padding, pc quantum, pointer size */
	struct cursor c = cursor_make(bytes, size);

	ret->bytes = bytes;
	ret->size = size;
	ret->magic = cursor_u32(&c);
	if (size < HEADER_SIZE || (ret->magic != GO_MAGIC_118 && ret->magic != GO_MAGIC_120) ||
	    memcmp(cursor_skip(&c, sizeof(fixed)), fixed, sizeof(fixed)) != 0)
		return false;
	ret->nr_functions = cursor_u64(&c);
	cursor_skip(&c, 8); /* files */
	ret->text = cursor_u64(&c);
	ret->names_off = cursor_u64(&c);
	ret->units_off = cursor_u64(&c);
	ret->files_off = cursor_u64(&c);
	ret->values_off = cursor_u64(&c);
	ret->functions_off = cursor_u64(&c);
	return ret->values_off < size && ret->functions_off < size && ret->nr_functions > 0 &&
	       ret->nr_functions < (size - ret->functions_off) / GO_FUNCTAB_ENTRY;
}

/* The section that holds the table: its own, or that of relocated read-only data. */
static const struct elf_section *table_section(const struct elf_file *elf)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_file_section(elf, names[i]);

		if (section)
			return section;
	}
	return elf_file_section(elf, ".go.buildinfo") ? elf_file_section(elf, ".data.rel.ro")
						      : NULL;
}

bool go_table_is_likely(const struct elf_file *elf)
{
	return table_section(elf) != NULL;
}

/* The header is at the beginning of a section of its own, else at some multiple of 8. */
int go_table_find(const struct elf_file *elf, struct budget *budget, struct go_table *ret,
		  struct fpl_err *err)
{
	const struct elf_section *section = table_section(elf);
	size_t size;

	*ret = (struct go_table){ .size = 0 };
	if (!section || section->type == SHT_NOBITS)
		return -ENODATA;

	int code = elf_file_section_bytes(elf, section, (size_t)budget_memory_left(budget),
					  &ret->section, &size, err);

	if (code)
		return code;
	code = budget_memory(budget, size, err);
	for (size_t at = 0; code == 0 && at + HEADER_SIZE <= size; at += 8) {
		if (!read_header(ret->section + at, size - at, ret))
			continue;
		ret->vaddr = section->vaddr + at;
		ret->file_off = section->off + at;
		return 0;
	}
	go_table_fini(ret);
	return code ? code : -ENODATA;
}

static uint64_t u64_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The address at @off of the record, which is searched for in @section, at a multiple of 8; 0:
 * none. */
static uint64_t module_u64(const struct elf_file *elf, const struct elf_section *section,
			   const struct go_table *table, size_t off)
{
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size;

	if (!section || section->type == SHT_NOBITS ||
	    elf_file_section_bytes(elf, section, MODULE_SECTION_MOST, &bytes, &size, NULL))
		return 0;
	for (size_t at = 0; at + MODULE_SIZE <= size; at += 8)
		if (u64_at(bytes + at + MODULE_TABLE) == table->vaddr &&
		    u64_at(bytes + at + MODULE_NAMES) == table->vaddr + table->names_off)
			return u64_at(bytes + at + off);
	return 0;
}

uint64_t go_table_text(const struct elf_file *elf, const struct go_table *table)
{
	return module_u64(elf, elf_file_section(elf, ".go.module"), table, MODULE_TEXT);
}

uint64_t go_table_data(const struct elf_file *elf, const struct go_table *table)
{
	static const char *const names[] = { ".go.module", ".noptrdata", ".data" };
	size_t off = table->magic == GO_MAGIC_118 ? MODULE_DATA_118 : MODULE_DATA;
	uint64_t data = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !data; i++)
		data = module_u64(elf, elf_file_section(elf, names[i]), table, off);
	return data;
}
