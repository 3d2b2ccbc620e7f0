/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/scope_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_ranges.h"

#define DEPTH_MAX  1024u /* of entries in each other: clang's deepest are about 60 */
#define SCOPES_MAX (1u << 24)

/* A walk over the entries of a unit. */
struct walk {
	const struct dwarf_unit *unit;
	struct scope_tree *tree;
	uint32_t depth;
	uint32_t scopes[DEPTH_MAX]; /* what the entries at each depth are in */
};

/* Attributes of an entry that may have code. */
struct scope_values {
	struct dwarf_value low_pc, high_pc, ranges;
	struct scope scope;
	bool has_origin, has_name;
};

static uint32_t number_of(const struct dwarf_value *value)
{
	return value->kind == VALUE_NUMBER && value->number <= UINT32_MAX ? (uint32_t)value->number
									  : 0;
}

static void take(struct scope_values *values, uint16_t name, const struct dwarf_value *value)
{
	struct scope *scope = &values->scope;

	switch (name) {
	case DW_AT_low_pc:
		values->low_pc = *value;
		break;
	case DW_AT_high_pc:
		values->high_pc = *value;
		break;
	case DW_AT_ranges:
		values->ranges = *value;
		break;
	case DW_AT_call_file:
		scope->call_file = number_of(value);
		break;
	case DW_AT_call_line:
		scope->call_line = number_of(value);
		break;
	case DW_AT_call_column:
		scope->call_column = number_of(value);
		break;
	case DW_AT_name:
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		values->has_name = true;
		break;
	case DW_AT_abstract_origin:
		if (value->kind != VALUE_REF && value->kind != VALUE_SUP_REF)
			break;
		values->has_origin = true;
		scope->entry.off = value->number & (UINT64_MAX >> 1);
		scope->entry.in_supplement = value->kind == VALUE_SUP_REF;
		break;
	default:
		break;
	}
}

struct range_adder {
	const struct dwarf_unit *unit;
	struct scope_tree *tree;
};

/* dwarf_range_fn: a range of the scope added last. */
static int add_range(void *ctx, uint64_t start, uint64_t end)
{
	struct range_adder *adder = ctx;

	if (!dwarf_is_code(adder->unit->file, start))
		return 0;
	return interval_map_add(&adder->tree->map, start, end, (uint32_t)adder->tree->nr - 1);
}

static int add_ranges(const struct walk *walk, const struct scope_values *values)
{
	struct range_adder adder = { .unit = walk->unit, .tree = walk->tree };
	uint64_t low, high;

	if (values->ranges.kind != VALUE_NONE) {
		uint64_t off = dwarf_ranges_off(walk->unit, &values->ranges);
		int code = off == UINT64_MAX
				   ? 0
				   : dwarf_ranges_read(walk->unit, off, add_range, &adder);

		return code == -EINVAL ? 0 : code;
	}
	if (!dwarf_value_address(walk->unit, &values->low_pc, &low))
		return 0;
	if (!dwarf_value_address(walk->unit, &values->high_pc, &high))
		high = low + (values->high_pc.kind == VALUE_NUMBER ? values->high_pc.number : 0);
	return low < high ? add_range(&adder, low, high) : 0;
}

/* An entry that may have code: *ret is what its children are in. */
static int read_scope(struct walk *walk, const struct abbrev *abbrev, uint64_t off,
		      struct cursor *c, uint32_t *ret)
{
	const struct dwarf_unit *unit = walk->unit;
	const struct abbrev_attr *attr = &unit->abbrevs->attrs.list[abbrev->first_attr];
	struct scope_values values = { .low_pc = { .kind = VALUE_NONE } };
	struct dwarf_value value;
	int code;

	for (uint32_t i = 0; i < abbrev->nr_attrs; i++, attr++) {
		dwarf_value_read(unit, attr, c, &value);
		take(&values, attr->name, &value);
	}
	if (c->bad)
		return -EINVAL;
	if (values.low_pc.kind == VALUE_NONE && values.ranges.kind == VALUE_NONE)
		return 0;
	/* the entry that is named is mostly one step away: all that lead there share its answer */
	if (!values.has_origin || values.has_name)
		values.scope.entry = (struct dwarf_entry){ .off = off & (UINT64_MAX >> 1) };
	values.scope.parent =
		abbrev->tag == DW_TAG_subprogram ? SCOPE_NONE : walk->scopes[walk->depth];
	if (walk->tree->nr >= SCOPES_MAX)
		return -E2BIG;
	code = vector_push(walk->tree, values.scope);
	if (code)
		return code;
	*ret = (uint32_t)walk->tree->nr - 1;
	return add_ranges(walk, &values);
}

static int walk_entries(struct walk *walk)
{
	const struct dwarf_unit *unit = walk->unit;
	struct cursor c = dwarf_unit_entries(unit, unit->root_off);
	const uint8_t *start = c.pos;
	int code = 0;

	walk->scopes[0] = SCOPE_NONE;
	do {
		uint64_t off = unit->root_off + (uint64_t)(c.pos - start);
		uint64_t number = cursor_uleb(&c);
		const struct abbrev *abbrev;
		uint32_t scope = walk->scopes[walk->depth];

		if (!number) {
			if (walk->depth)
				walk->depth--;
			continue;
		}
		abbrev = abbrev_find(unit->abbrevs, number);
		if (!abbrev)
			return -EINVAL;
		if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine)
			code = read_scope(walk, abbrev, off, &c, &scope);
		else
			abbrev_skip(unit->abbrevs, abbrev, &c);
		if (!abbrev->has_children)
			continue;
		if (walk->depth + 1 == DEPTH_MAX)
			return -EINVAL;
		walk->scopes[++walk->depth] = scope;
	} while (!code && !c.bad && cursor_left(&c) && walk->depth);
	return code ? code : c.bad ? -EINVAL : 0;
}

static void cleanup_tree(struct scope_tree **tree)
{
	scope_tree_destroy(*tree);
}

int scope_tree_create(const struct dwarf_unit *unit, struct scope_tree **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_tree) struct scope_tree *tree = calloc(1, sizeof(*tree));
	AUTO_FREE struct walk *walk = calloc(1, sizeof(*walk));
	const char *name = unit->file->elf->name;
	int code = dwarf_work(unit->file, unit->end - unit->off, err);

	if (code)
		return code;
	if (!tree || !walk)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	walk->unit = unit;
	walk->tree = tree;
	code = walk_entries(walk);
	if (code == -EINVAL) {
		fpl_log(FPL_LOG_DEBUG,
			"%s: .debug_info+%#" PRIx64 ": a unit that makes no sense from half-way on",
			name, unit->off);
		code = 0;
	}
	if (!code)
		code = interval_map_settle(&tree->map);
	if (code)
		return fpl_fail(err, code, "%s: %s", name,
				code == -ENOMEM ? "out of memory" : "too many functions");
	*ret = TAKE_PTR(tree);
	return 0;
}

void scope_tree_destroy(struct scope_tree *tree)
{
	if (!tree)
		return;
	interval_map_fini(&tree->map);
	vector_fini(tree);
	free(tree);
}

const struct scope *scope_tree_find(const struct scope_tree *tree, uint64_t vaddr)
{
	uint32_t idx;

	return interval_map_find(&tree->map, vaddr, &idx) ? &tree->list[idx] : NULL;
}
