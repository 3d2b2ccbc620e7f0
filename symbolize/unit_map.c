/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/unit_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "symbolize/dwarf_ranges.h"
#include "symbolize/dwarf_root.h"

struct maker {
	struct dwarf_units *units;
	struct interval_map *map;
	bool *has_ranges; /* [units->nr]: spoken of */
	uint32_t idx;	  /* of the unit at hand */
};

/* dwarf_range_fn */
static int add_range(void *ctx, uint64_t start, uint64_t end)
{
	struct maker *maker = ctx;

	if (!dwarf_is_code(maker->units->file, start))
		return 0;
	maker->has_ranges[maker->idx] = true;
	return interval_map_add(maker->map, start, end, maker->idx);
}

/* Finds the unit whose header is at @off; false: no such unit. */
static bool find_unit(const struct dwarf_units *units, uint64_t off, uint32_t *ret)
{
	size_t at = SORTED_UP_TO(units->list, off, units->nr, off);

	if (!at || units->list[at - 1].off != off)
		return false;
	*ret = (uint32_t)at - 1;
	return true;
}

/* One set: the ranges of one unit. */
static int read_set(struct maker *maker, struct cursor *c)
{
	const uint8_t *start = c->pos, *end;
	uint8_t offset_size, address_size, segment_size;
	uint64_t info_off;
	uint16_t version;
	struct cursor set;
	int code = 0;

	end = dwarf_unit_length(c, &offset_size);
	if (!end)
		return -EINVAL;
	set = *c;
	set.end = end;
	c->pos = end;
	version = cursor_u16(&set);
	info_off = cursor_uint(&set, offset_size);
	address_size = cursor_u8(&set);
	segment_size = cursor_u8(&set);
	if (set.bad || version != 2 || address_size != 8 || segment_size ||
	    !find_unit(maker->units, info_off, &maker->idx))
		return 0;
	/* aligned to the size of a pair, from the beginning of the set */
	cursor_skip(&set, (16u - (size_t)(set.pos - start) % 16u) % 16u);
	while (!code && cursor_left(&set) >= 16) {
		uint64_t vaddr = cursor_u64(&set), size = cursor_u64(&set);

		if (!vaddr && !size)
			break;
		if (vaddr + size > vaddr)
			code = add_range(maker, vaddr, vaddr + size);
	}
	return code;
}

static int read_aranges(struct maker *maker)
{
	struct cursor c = dwarf_at(maker->units->file, DWARF_ARANGES, 0);
	int code = 0;

	while (!code && cursor_left(&c))
		code = read_set(maker, &c);
	return code == -EINVAL ? 0 : code;
}

static int read_unit(struct maker *maker, uint32_t idx)
{
	struct dwarf_unit *unit = &maker->units->list[idx];
	int code;

	maker->idx = idx;
	/* a damaged unit is left out, and so is what is left when there was too much work */
	if (dwarf_unit_read(maker->units, unit, NULL))
		return 0;
	if (unit->root.ranges_off != UINT64_MAX)
		code = dwarf_ranges_read(unit, unit->root.ranges_off, add_range, maker);
	else if (unit->root.low_pc < unit->root.high_pc)
		code = add_range(maker, unit->root.low_pc, unit->root.high_pc);
	else
		code = 0;
	return code == -EINVAL ? 0 : code;
}

int unit_map_make(struct dwarf_units *units, struct interval_map *ret, struct fpl_err *err)
{
	AUTO_FREE bool *has_ranges = calloc(units->nr + 1, sizeof(*has_ranges));
	struct maker maker = { .units = units, .map = ret, .has_ranges = has_ranges };
	int code;

	/* Units have copies of inline functions; the linker keeps the first one's code, and the
	 * others say that it is theirs. */
	ret->first_wins = true;
	code = has_ranges ? read_aranges(&maker) : -ENOMEM;

	for (uint32_t i = 0; i < units->nr && !code; i++) {
		if (!has_ranges[i])
			code = read_unit(&maker, i);
	}
	if (!code || code == -E2BIG)
		code = interval_map_settle(ret);
	if (code)
		return fpl_fail(err, code, "%s: %s", units->file->elf->name,
				code == -ENOMEM ? "out of memory" : "too many address ranges");
	return 0;
}
