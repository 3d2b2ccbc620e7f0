/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_names.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"
#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_root.h"
#include "symbolize/dwarf_value.h"

#define CHAIN_MAX 16u /* entries on the way to a name; a ring must end */

/* The attributes of one entry. */
struct said {
	const char *name, *linkage_name;
	struct dwarf_entry next;
	bool has_next, next_is_origin;
	uint64_t line;
};

static void take(struct said *said, const struct dwarf_unit *unit, struct dwarf_file *supplement,
		 uint16_t name, const struct dwarf_value *value, bool in_supplement)
{
	bool is_ref = value->kind == VALUE_REF || value->kind == VALUE_SUP_REF;

	switch (name) {
	case DW_AT_name:
		said->name = dwarf_value_text(unit, supplement, value);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		said->linkage_name = dwarf_value_text(unit, supplement, value);
		break;
	case DW_AT_decl_line:
		said->line = value->kind == VALUE_NUMBER ? value->number : 0;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		if (!is_ref || (said->has_next && said->next_is_origin))
			break;
		said->has_next = true;
		said->next_is_origin = name == DW_AT_abstract_origin;
		said->next.off = value->number & (UINT64_MAX >> 1);
		said->next.in_supplement = in_supplement || value->kind == VALUE_SUP_REF;
		break;
	default:
		break;
	}
}

/* Reads @entry; false where it cannot be. */
static bool read_entry(struct dwarf_names *names, struct dwarf_entry entry, struct said *said)
{
	struct dwarf_units *units = entry.in_supplement ? names->supplement : names->units;
	struct dwarf_file *supplement =
		names->supplement && !entry.in_supplement ? names->supplement->file : NULL;
	struct dwarf_unit *unit = units ? dwarf_units_at(units, entry.off) : NULL;

	*said = (struct said){ .has_next = false };
	if (!unit || dwarf_work(unit->file, 16, NULL))
		return false;

	struct cursor c = dwarf_unit_entries(unit, entry.off);
	const struct abbrev *abbrev = abbrev_find(unit->abbrevs, cursor_uleb(&c));
	struct dwarf_value value;

	for (uint32_t i = 0; abbrev && i < abbrev->nr_attrs && !c.bad; i++) {
		const struct abbrev_attr *attr = &unit->abbrevs->attrs.list[abbrev->first_attr + i];

		dwarf_value_read(unit, attr, &c, &value);
		if (!c.bad)
			take(said, unit, supplement, attr->name, &value, entry.in_supplement);
	}
	return abbrev && !c.bad;
}

/* A mangled name anywhere on the way is better than the first plain one. */
static void resolve(struct dwarf_names *names, struct dwarf_entry entry, struct dwarf_name *ret)
{
	char *readable = NULL;
	struct said said;

	for (unsigned int i = 0; i < CHAIN_MAX && read_entry(names, entry, &said); i++) {
		if (!ret->text)
			ret->text = said.name;
		if (!ret->line)
			ret->line = said.line > UINT32_MAX ? 0 : (uint32_t)said.line;
		if (said.linkage_name && said.linkage_name[0]) {
			ret->text = said.linkage_name;
			break;
		}
		if (!said.has_next)
			break;
		entry = said.next;
	}
	if (ret->text && !ret->text[0])
		ret->text = NULL;
	if (ret->text && !names->no_demangle)
		readable = demangle_name(ret->text);
	ret->is_own = readable;
	ret->text = readable ? readable : ret->text;
}

void dwarf_names_fini(struct dwarf_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		if (names->list[i].is_own)
			free((char *)names->list[i].text);
	}
	vector_fini(names);
	id_table_fini(&names->table);
}

static uint64_t key_of(struct dwarf_entry entry)
{
	return entry.off << 1 | entry.in_supplement;
}

const struct dwarf_name *dwarf_names_find(struct dwarf_names *names, struct dwarf_entry entry)
{
	uint64_t key = key_of(entry);
	/* 2^64 divided by the golden ratio: neighbouring offsets spread over the table */
	uint64_t hash = key * 0x9e3779b97f4a7c15u >> 32;
	uint32_t at = ID_TABLE_FIND(&names->table, hash, i, key_of(names->list[i].entry) == key);

	if (at == ID_TABLE_NONE) {
		at = (uint32_t)names->nr;
		if (vector_reserve(names, names->nr + 1) || id_table_add(&names->table, hash, at))
			return NULL;
		names->list[names->nr++] = (struct dwarf_name){ .entry = entry };
		resolve(names, entry, &names->list[at]);
	}
	return &names->list[at];
}
