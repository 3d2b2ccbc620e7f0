/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_ranges.h"

#include <errno.h>

#include "symbolize/dwarf_constants.h"

uint64_t dwarf_ranges_off(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	uint64_t base = unit->root.rnglists_base, off;
	struct cursor c;

	if (value->kind == VALUE_NUMBER)
		return value->number;
	if (value->kind != VALUE_RANGES_IDX || base == UINT64_MAX ||
	    __builtin_mul_overflow(value->number, unit->sizes.offset, &off) ||
	    __builtin_add_overflow(off, base, &off))
		return UINT64_MAX;
	c = dwarf_at(unit->file, DWARF_RNGLISTS, off);
	off = cursor_uint(&c, unit->sizes.offset);
	return c.bad || __builtin_add_overflow(off, base, &off) ? UINT64_MAX : off;
}

static int give(dwarf_range_fn fn, void *ctx, uint64_t start, uint64_t end)
{
	return start < end ? fn(ctx, start, end) : 0;
}

static int read_ranges(const struct dwarf_unit *unit, struct cursor *c, dwarf_range_fn fn,
		       void *ctx)
{
	uint64_t base = unit->root.low_pc;
	int code = 0;

	while (!code) {
		uint64_t start = cursor_u64(c), end = cursor_u64(c);

		if (c->bad)
			return -EINVAL;
		if (!start && !end)
			break;
		if (dwarf_work(unit->file, 16, NULL))
			return -E2BIG;
		if (start == UINT64_MAX)
			base = end;
		else
			code = give(fn, ctx, base + start, base + end);
	}
	return code;
}

/* One entry of a list of DWARF 5. @base: what offsets are relative to. */
static int read_entry(const struct dwarf_unit *unit, uint8_t kind, struct cursor *c, uint64_t *base,
		      dwarf_range_fn fn, void *ctx)
{
	uint64_t start = 0, end = 0;

	switch (kind) {
	case DW_RLE_base_addressx:
		return dwarf_unit_address(unit, cursor_uleb(c), base) ? 0 : -EINVAL;
	case DW_RLE_base_address:
		*base = cursor_u64(c);
		return 0;
	case DW_RLE_startx_endx:
		if (!dwarf_unit_address(unit, cursor_uleb(c), &start) ||
		    !dwarf_unit_address(unit, cursor_uleb(c), &end))
			return -EINVAL;
		break;
	case DW_RLE_startx_length:
		if (!dwarf_unit_address(unit, cursor_uleb(c), &start))
			return -EINVAL;
		end = start + cursor_uleb(c);
		break;
	case DW_RLE_offset_pair:
		start = *base + cursor_uleb(c);
		end = *base + cursor_uleb(c);
		break;
	case DW_RLE_start_end:
		start = cursor_u64(c);
		end = cursor_u64(c);
		break;
	case DW_RLE_start_length:
		start = cursor_u64(c);
		end = start + cursor_uleb(c);
		break;
	default:
		return -EINVAL;
	}
	return c->bad ? -EINVAL : give(fn, ctx, start, end);
}

static int read_rnglist(const struct dwarf_unit *unit, struct cursor *c, dwarf_range_fn fn,
			void *ctx)
{
	uint64_t base = unit->root.low_pc;
	int code = 0;

	while (!code) {
		uint8_t kind = cursor_u8(c);

		if (c->bad)
			return -EINVAL;
		if (kind == DW_RLE_end_of_list)
			break;
		if (dwarf_work(unit->file, 4, NULL))
			return -E2BIG;
		code = read_entry(unit, kind, c, &base, fn, ctx);
	}
	return code;
}

int dwarf_ranges_read(const struct dwarf_unit *unit, uint64_t off, dwarf_range_fn fn, void *ctx)
{
	enum dwarf_section section = unit->version < 5 ? DWARF_RANGES : DWARF_RNGLISTS;
	struct cursor c = dwarf_at(unit->file, section, off);

	return unit->version < 5 ? read_ranges(unit, &c, fn, ctx) : read_rnglist(unit, &c, fn, ctx);
}
