/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_value.h"
#include "symbolize/line_table.h"

void line_header_fini(struct line_header *header)
{
	for (size_t i = 0; i < header->files.nr; i++)
		free(header->files.list[i].path);
	vector_fini(&header->files);
	vector_fini(&header->dirs);
}

int line_header_add_file(struct line_header *header, const char *name, uint64_t dir)
{
	return vector_push(&header->files, (struct line_file){ .name = name, .dir = dir });
}

/* Lists up to DWARF 4: directories and files from 1 on, 0 is what the unit says. */
static int read_old_lists(const struct dwarf_unit *unit, struct cursor *c,
			  struct line_header *header)
{
	int code = vector_push(&header->dirs, unit->root.comp_dir);

	if (!code)
		code = line_header_add_file(header, unit->root.name, 0);
	while (!code && !c->bad) {
		const char *dir = cursor_text(c, SIZE_MAX);

		if (!dir || !*dir)
			break;
		code = vector_push(&header->dirs, dir);
	}
	while (!code && !c->bad) {
		const char *name = cursor_text(c, SIZE_MAX);
		uint64_t dir;

		if (!name || !*name)
			break;
		dir = cursor_uleb(c);
		(void)cursor_uleb(c); /* time of change */
		(void)cursor_uleb(c); /* size */
		code = line_header_add_file(header, name, dir);
	}
	return code;
}

/* How an entry of a list is written (DWARF 5, section 6.2.4.1). */
struct entry_format {
	uint8_t nr;
	struct {
		uint64_t content, form;
	} fields[UINT8_MAX];
};

static void read_format(struct cursor *c, struct entry_format *ret)
{
	ret->nr = cursor_u8(c);
	for (uint8_t i = 0; i < ret->nr; i++) {
		ret->fields[i].content = cursor_uleb(c);
		ret->fields[i].form = cursor_uleb(c);
	}
}

static void read_list_entry(const struct dwarf_unit *unit, struct dwarf_file *supplement,
			    const struct entry_format *format, struct form_sizes sizes,
			    struct cursor *c, const char **ret_path, uint64_t *ret_dir)
{
	*ret_path = NULL;
	*ret_dir = 0;
	for (uint8_t i = 0; i < format->nr && !c->bad; i++) {
		struct dwarf_value value;

		dwarf_value_of_form(format->fields[i].form, sizes, c, &value);
		if (format->fields[i].content == DW_LNCT_path)
			*ret_path = dwarf_value_text(unit, supplement, &value);
		else if (format->fields[i].content == DW_LNCT_directory_index &&
			 value.kind == VALUE_NUMBER)
			*ret_dir = value.number;
	}
}

/* One of the two lists of DWARF 5. */
static int read_list(const struct dwarf_unit *unit, struct dwarf_file *supplement, struct cursor *c,
		     struct line_header *header, bool is_dirs)
{
	struct entry_format format;
	uint64_t nr;
	int code = 0;

	read_format(c, &format);
	nr = cursor_uleb(c);
	/* an entry of no bytes could be there any number of times */
	if (nr > cursor_left(c))
		cursor_fail(c);
	for (uint64_t i = 0; i < nr && !c->bad && !code; i++) {
		const char *path;
		uint64_t dir;

		read_list_entry(unit, supplement, &format, header->sizes, c, &path, &dir);
		code = is_dirs ? vector_push(&header->dirs, path)
			       : line_header_add_file(header, path, dir);
	}
	return code;
}

int line_header_read(const struct dwarf_unit *unit, struct dwarf_file *supplement, struct cursor *c,
		     struct line_header *ret)
{
	const uint8_t *end = dwarf_unit_length(c, &ret->sizes.offset);
	uint64_t header_length;
	struct cursor lists;
	int code;

	if (!end)
		return -EINVAL;
	c->end = end;
	ret->sizes.ref_addr = ret->sizes.offset;
	ret->version = cursor_u16(c);
	if (ret->version < 2 || ret->version > 5)
		return -EINVAL;
	if (ret->version >= 5)
		cursor_skip(c, 2); /* sizes of an address, which is 8, and of a segment */
	header_length = cursor_uint(c, ret->sizes.offset);
	lists = *c;
	cursor_skip(c, header_length);
	ret->min_insn_bytes = cursor_u8(&lists);
	if (ret->version >= 4)
		cursor_skip(&lists, 1); /* operations of an instruction: of VLIW machines */
	cursor_skip(&lists, 1);		/* is_stmt at the start */
	ret->line_base = (int8_t)cursor_u8(&lists);
	ret->line_range = cursor_u8(&lists);
	ret->opcode_base = cursor_u8(&lists);
	for (unsigned int i = 1; i < ret->opcode_base; i++)
		ret->operands[i] = cursor_u8(&lists);
	if (ret->version < 5) {
		code = read_old_lists(unit, &lists, ret);
	} else {
		code = read_list(unit, supplement, &lists, ret, true);
		if (!code)
			code = read_list(unit, supplement, &lists, ret, false);
	}
	if (code)
		return code;
	return c->bad || lists.bad || !ret->line_range || !ret->opcode_base ? -EINVAL : 0;
}

/* @dir/@name; either may be NULL or empty. */
static char *join(const char *dir, const char *name)
{
	size_t dir_size = dir ? strnlen(dir, DWARF_TEXT_MAX) : 0;
	size_t name_size = strnlen(name, DWARF_TEXT_MAX);
	bool has_slash = dir_size && dir[dir_size - 1] == '/';
	char *path;

	if (!dir_size || name[0] == '/')
		return strndup(name, name_size);
	path = malloc(dir_size + name_size + 2);
	if (path)
		snprintf(path, dir_size + name_size + 2, "%.*s%s%.*s", (int)dir_size, dir,
			 has_slash ? "" : "/", (int)name_size, name);
	return path;
}

const char *line_table_path(struct line_table *table, uint64_t idx)
{
	struct line_header *header = &table->header;
	struct line_file *file = idx < header->files.nr ? &header->files.list[idx] : NULL;

	if (!file || !file->name || !file->name[0])
		return NULL;
	if (file->is_made)
		return file->path;
	file->is_made = true;

	const char *dir = file->dir < header->dirs.nr ? header->dirs.list[file->dir] : NULL;
	/* the first directory of DWARF 5 is that of the compilation, which may be relative */
	bool is_whole = header->version >= 5 && file->dir == 0 && dir;
	AUTO_FREE char *whole_dir =
		join(is_whole ? NULL : table->unit->root.comp_dir, dir ? dir : "");

	file->path = join(whole_dir, file->name);
	return file->path;
}
