/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_unit.h"

#include <errno.h>

#include "symbolize/dwarf_constants.h"

#define ADDRESS_SIZE 8u

/* Reads the header at @c: false where it makes no sense. */
static bool read_header(struct dwarf_unit *unit, struct cursor *c)
{
	const uint8_t *start = c->pos, *end = dwarf_unit_length(c, &unit->sizes.offset);
	uint8_t address_size;

	unit->version = cursor_u16(c);
	unit->sizes.ref_addr = unit->version < 3 ? ADDRESS_SIZE : unit->sizes.offset;
	unit->type = DW_UT_compile;
	if (unit->version >= 5) {
		unit->type = cursor_u8(c);
		address_size = cursor_u8(c);
		unit->abbrev_off = cursor_uint(c, unit->sizes.offset);
	} else {
		unit->abbrev_off = cursor_uint(c, unit->sizes.offset);
		address_size = cursor_u8(c);
	}
	if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
		cursor_skip(c, 8); /* the id of the .dwo */
	else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
		cursor_skip(c, 8u + unit->sizes.offset);
	if (c->bad || !end || c->pos > end)
		return false;
	unit->root_off = unit->off + (uint64_t)(c->pos - start);
	unit->end = unit->off + (uint64_t)(end - start);
	/* one that cannot be read is listed all the same: others follow it */
	if (unit->version < 2 || unit->version > 5 || address_size != ADDRESS_SIZE)
		unit->is_read = true;
	c->pos = end;
	return true;
}

int dwarf_units_init(struct dwarf_units *units, struct dwarf_file *file, struct fpl_err *err)
{
	struct cursor c = dwarf_at(file, DWARF_INFO, 0);
	const uint8_t *start = c.pos;

	*units = (struct dwarf_units){ .file = file };
	while (cursor_left(&c) && units->nr < DWARF_UNITS_MAX) {
		struct dwarf_unit unit = { .file = file, .off = (uint64_t)(c.pos - start) };

		if (!read_header(&unit, &c))
			break;
		if (vector_push(units, unit))
			return fpl_fail(err, -ENOMEM, "%s: out of memory", file->elf->name);
	}
	return 0;
}

void dwarf_units_fini(struct dwarf_units *units)
{
	for (size_t i = 0; i < units->tables.nr; i++)
		abbrev_table_destroy(units->tables.list[i]);
	vector_fini(&units->tables);
	vector_fini(units);
	*units = (struct dwarf_units){ .nr = 0 };
}

struct cursor dwarf_unit_entries(const struct dwarf_unit *unit, uint64_t off)
{
	struct cursor c = dwarf_at(unit->file, DWARF_INFO, off);

	if (off < unit->root_off || off > unit->end)
		cursor_fail(&c);
	else
		c.end = c.pos + (unit->end - off);
	return c;
}

bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t idx, uint64_t *ret)
{
	uint64_t base = unit->root.addr_base, off;
	struct cursor c;

	if (base == UINT64_MAX)
		base = unit->version < 5 ? 0 : 8; /* behind the section's only header */
	if (__builtin_mul_overflow(idx, ADDRESS_SIZE, &off) ||
	    __builtin_add_overflow(off, base, &off))
		return false;
	c = dwarf_at(unit->file, DWARF_ADDR, off);
	*ret = cursor_u64(&c);
	return !c.bad;
}
