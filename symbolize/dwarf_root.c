/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_root.h"

#include <errno.h>
#include <string.h>

#include "base/sorted.h"
#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_ranges.h"
#include "symbolize/dwarf_value.h"

/* How many tables are before one at @off for units of @sizes. */
static size_t tables_before(const struct dwarf_units *units, uint64_t off, struct form_sizes sizes)
{
	size_t lo = 0, hi = units->tables.nr;

	/* Invariant: those before lo are before it, those from hi on are not. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct abbrev_table *table = units->tables.list[mid];
		int order = table->off < off ? -1 : table->off > off;

		if (!order)
			order = memcmp(&table->sizes, &sizes, sizeof(sizes));
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The abbreviations of @unit, each table read once. */
static int find_table(struct dwarf_units *units, struct dwarf_unit *unit, struct fpl_err *err)
{
	size_t at = tables_before(units, unit->abbrev_off, unit->sizes);
	struct abbrev_table **list, *table;
	int code;

	if (at < units->tables.nr) {
		table = units->tables.list[at];
		if (table->off == unit->abbrev_off &&
		    memcmp(&table->sizes, &unit->sizes, sizeof(unit->sizes)) == 0) {
			unit->abbrevs = table;
			return 0;
		}
	}
	/* moving the list is work, too: files have the tables in the order of their units */
	code = dwarf_work(units->file, units->tables.nr - at + 1, err);
	if (code)
		return code;
	if (vector_reserve(&units->tables, units->tables.nr + 1))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", units->file->elf->name);
	code = abbrev_table_create(units->file, unit->abbrev_off, unit->sizes, &table, err);
	if (code)
		return code;
	list = units->tables.list;
	memmove(list + at + 1, list + at, (units->tables.nr - at) * sizeof(*list));
	list[at] = table;
	units->tables.nr++;
	unit->abbrevs = table;
	return 0;
}

/* Values that are kept until the bases are known. */
struct root_values {
	struct dwarf_value name, comp_dir, low_pc, high_pc, ranges;
};

static void take_root(struct dwarf_root *root, struct root_values *values, uint16_t name,
		      const struct dwarf_value *value)
{
	switch (name) {
	case DW_AT_name:
		values->name = *value;
		break;
	case DW_AT_comp_dir:
		values->comp_dir = *value;
		break;
	case DW_AT_low_pc:
		values->low_pc = *value;
		break;
	case DW_AT_high_pc:
		values->high_pc = *value;
		break;
	case DW_AT_ranges:
		values->ranges = *value;
		break;
	case DW_AT_stmt_list:
		root->stmt_list_off = value->number;
		break;
	case DW_AT_str_offsets_base:
		root->str_offsets_base = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		root->addr_base = value->number;
		break;
	case DW_AT_rnglists_base:
		root->rnglists_base = value->number;
		break;
	default:
		break;
	}
}

static void settle_root(struct dwarf_unit *unit, const struct root_values *values)
{
	struct dwarf_root *root = &unit->root;
	uint64_t high;

	root->name = dwarf_value_text(unit, NULL, &values->name);
	root->comp_dir = dwarf_value_text(unit, NULL, &values->comp_dir);
	if (!dwarf_value_address(unit, &values->low_pc, &root->low_pc))
		root->low_pc = 0;
	if (dwarf_value_address(unit, &values->high_pc, &high))
		root->high_pc = high;
	else if (values->high_pc.kind == VALUE_NUMBER)
		root->high_pc = root->low_pc + values->high_pc.number;
	root->ranges_off = dwarf_ranges_off(unit, &values->ranges);
}

static int read_root(struct dwarf_unit *unit, struct fpl_err *err)
{
	struct cursor c = dwarf_unit_entries(unit, unit->root_off);
	const struct abbrev *abbrev = abbrev_find(unit->abbrevs, cursor_uleb(&c));
	struct root_values values = { .name = { .kind = VALUE_NONE } };
	struct dwarf_value value;

	if (!abbrev)
		return dwarf_fail(unit->file, DWARF_INFO, unit->root_off, -EINVAL,
				  "a unit whose first entry has no abbreviation", err);
	for (uint32_t i = 0; i < abbrev->nr_attrs; i++) {
		const struct abbrev_attr *attr = &unit->abbrevs->attrs.list[abbrev->first_attr + i];

		dwarf_value_read(unit, attr, &c, &value);
		take_root(&unit->root, &values, attr->name, &value);
	}
	if (c.bad)
		return dwarf_fail(unit->file, DWARF_INFO, unit->root_off, -EINVAL,
				  "a unit whose first entry does not end", err);
	settle_root(unit, &values);
	return 0;
}

int dwarf_unit_read(struct dwarf_units *units, struct dwarf_unit *unit, struct fpl_err *err)
{
	int code;

	if (unit->is_read)
		return unit->abbrevs ? 0
				     : dwarf_fail(unit->file, DWARF_INFO, unit->off, -EINVAL,
						  "a unit that cannot be read", err);
	unit->is_read = true;
	unit->root = (struct dwarf_root){
		.ranges_off = UINT64_MAX,
		.stmt_list_off = UINT64_MAX,
		.str_offsets_base = UINT64_MAX,
		.addr_base = UINT64_MAX,
		.rnglists_base = UINT64_MAX,
	};
	code = find_table(units, unit, err);
	if (!code)
		code = read_root(unit, err);
	if (code)
		unit->abbrevs = NULL;
	return code;
}

struct dwarf_unit *dwarf_units_at(struct dwarf_units *units, uint64_t off)
{
	size_t nr = SORTED_UP_TO(units->list, off, units->nr, off);
	struct dwarf_unit *unit = nr ? &units->list[nr - 1] : NULL;

	if (!unit || off < unit->root_off || off >= unit->end || dwarf_unit_read(units, unit, NULL))
		return NULL;
	return unit;
}
