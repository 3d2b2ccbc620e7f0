/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/debug_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "symbolize/dwarf_root.h"
#include "symbolize/line_table.h"
#include "symbolize/scope_tree.h"
#include "symbolize/unit_map.h"

struct debug_index {
	struct dwarf_file file, supplement_file;
	struct dwarf_units units, supplement;
	struct dwarf_names names;
	struct interval_map map; /* of units */
};

static void cleanup_index(struct debug_index **index)
{
	debug_index_destroy(*index);
}

/* One that cannot be read costs the names it has. */
static int open_supplement(struct debug_index *index, const struct elf_file *supplement)
{
	struct fpl_err err = { 0 };
	int code = dwarf_file_init(&index->supplement_file, supplement, &err);

	if (!code)
		code = dwarf_units_init(&index->supplement, &index->supplement_file, &err);
	if (code && code != -ENOMEM) {
		fpl_log(FPL_LOG_DEBUG, "supplement not used: %s", err.msg);
		return 0;
	}
	index->names.supplement = &index->supplement;
	return code;
}

bool debug_index_has_info(const struct elf_file *elf)
{
	return dwarf_file_is_there(elf);
}

int debug_index_create(const struct elf_file *elf, const struct elf_file *supplement,
		       const struct debug_index_options *options, struct debug_index **ret,
		       struct fpl_err *err)
{
	CLEANUP(cleanup_index) struct debug_index *index = calloc(1, sizeof(*index));
	int code;

	if (!index)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	code = dwarf_file_init(&index->file, elf, err);
	if (!code)
		code = dwarf_units_init(&index->units, &index->file, err);
	if (!code)
		code = unit_map_make(&index->units, &index->map, err);
	if (code)
		return code;
	index->names.units = &index->units;
	index->names.no_demangle = options->no_demangle;
	if (supplement && open_supplement(index, supplement))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	*ret = TAKE_PTR(index);
	return 0;
}

void debug_index_destroy(struct debug_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->units.nr; i++) {
		scope_tree_destroy(index->units.list[i].scopes);
		line_table_destroy(index->units.list[i].lines);
	}
	interval_map_fini(&index->map);
	dwarf_names_fini(&index->names);
	dwarf_units_fini(&index->supplement);
	dwarf_units_fini(&index->units);
	dwarf_file_fini(&index->supplement_file);
	dwarf_file_fini(&index->file);
	free(index);
}

/* Reads what @unit has, once; what cannot be read is not there. */
static void read_unit(struct debug_index *index, struct dwarf_unit *unit)
{
	struct dwarf_file *supplement = index->names.supplement ? &index->supplement_file : NULL;
	struct fpl_err err = { 0 };

	if (unit->has_parts)
		return;
	unit->has_parts = true;
	if (dwarf_unit_read(&index->units, unit, &err)) {
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
		return;
	}
	if (scope_tree_create(unit, &unit->scopes, &err))
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
	if (line_table_create(unit, supplement, &unit->lines, &err))
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
}

static void set_place(struct dwarf_unit *unit, struct symbol_line *frame, uint64_t file,
		      uint32_t line, uint32_t column)
{
	frame->file = line && unit->lines ? line_table_path(unit->lines, file) : NULL;
	frame->line = line;
	frame->column = line ? column : 0;
}

static void set_name(struct debug_index *index, const struct scope *scope,
		     struct symbol_line *frame)
{
	const struct dwarf_name *name = dwarf_names_find(&index->names, scope->entry);

	frame->name = name ? name->text : NULL;
	frame->start_line = name ? name->line : 0;
}

size_t debug_index_find(struct debug_index *index, uint64_t vaddr, struct symbol_line *ret)
{
	const struct line_place *place = NULL;
	const struct scope *scope = NULL;
	struct dwarf_unit *unit;
	uint32_t idx;
	size_t nr = 1;

	if (!interval_map_find(&index->map, vaddr, &idx))
		return 0;
	unit = &index->units.list[idx];
	read_unit(index, unit);
	if (unit->lines)
		place = line_table_find(unit->lines, vaddr);
	if (unit->scopes)
		scope = scope_tree_find(unit->scopes, vaddr);
	if (!place && !scope)
		return 0;
	ret[0] = (struct symbol_line){ .name = NULL };
	if (place)
		set_place(unit, &ret[0], place->file, place->line, place->column);
	if (!scope)
		return 1;
	set_name(index, scope, &ret[0]);
	while (scope->parent != SCOPE_NONE) {
		const struct scope *parent = &unit->scopes->list[scope->parent];

		/* the last place is the outermost's, whatever lies between */
		if (nr == SYMBOL_LINES_MAX)
			nr--;
		ret[nr] = (struct symbol_line){ .name = NULL };
		set_place(unit, &ret[nr], scope->call_file, scope->call_line, scope->call_column);
		set_name(index, parent, &ret[nr]);
		nr++;
		scope = parent;
	}
	return nr;
}
