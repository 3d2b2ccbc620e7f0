/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_value.h"

#include "base/cleanup.h"
#include "symbolize/dwarf_constants.h"

/* How many bytes a value takes, or: */
enum {
	SIZE_NONE = 0,
	SIZE_LEB = 16,
	SIZE_SLEB,
	SIZE_OFFSET,
	SIZE_REF_ADDR,
	SIZE_TEXT,
};

/* How a form is read, and what it says; of the others it is only known how long they are. */
struct reading {
	uint8_t kind, size;
	bool is_relative; /* to the unit */
};

static const struct reading readings[] = {
	[DW_FORM_data1] = { VALUE_NUMBER, 1, false },
	[DW_FORM_flag] = { VALUE_NUMBER, 1, false },
	[DW_FORM_data2] = { VALUE_NUMBER, 2, false },
	[DW_FORM_data4] = { VALUE_NUMBER, 4, false },
	[DW_FORM_data8] = { VALUE_NUMBER, 8, false },
	[DW_FORM_udata] = { VALUE_NUMBER, SIZE_LEB, false },
	[DW_FORM_sdata] = { VALUE_NUMBER, SIZE_SLEB, false },
	[DW_FORM_sec_offset] = { VALUE_NUMBER, SIZE_OFFSET, false },
	[DW_FORM_addr] = { VALUE_ADDRESS, 8, false },
	[DW_FORM_rnglistx] = { VALUE_RANGES_IDX, SIZE_LEB, false },
	[DW_FORM_string] = { VALUE_TEXT, SIZE_TEXT, false },
	[DW_FORM_strp] = { VALUE_STR, SIZE_OFFSET, false },
	[DW_FORM_line_strp] = { VALUE_LINE_STR, SIZE_OFFSET, false },
	[DW_FORM_strp_sup] = { VALUE_SUP_STR, SIZE_OFFSET, false },
	[DW_FORM_strx] = { VALUE_STR_IDX, SIZE_LEB, false },
	[DW_FORM_strx1] = { VALUE_STR_IDX, 1, false },
	[DW_FORM_strx2] = { VALUE_STR_IDX, 2, false },
	[DW_FORM_strx3] = { VALUE_STR_IDX, 3, false },
	[DW_FORM_strx4] = { VALUE_STR_IDX, 4, false },
	[DW_FORM_addrx] = { VALUE_ADDRESS_IDX, SIZE_LEB, false },
	[DW_FORM_addrx1] = { VALUE_ADDRESS_IDX, 1, false },
	[DW_FORM_addrx2] = { VALUE_ADDRESS_IDX, 2, false },
	[DW_FORM_addrx3] = { VALUE_ADDRESS_IDX, 3, false },
	[DW_FORM_addrx4] = { VALUE_ADDRESS_IDX, 4, false },
	[DW_FORM_ref1] = { VALUE_REF, 1, true },
	[DW_FORM_ref2] = { VALUE_REF, 2, true },
	[DW_FORM_ref4] = { VALUE_REF, 4, true },
	[DW_FORM_ref8] = { VALUE_REF, 8, true },
	[DW_FORM_ref_udata] = { VALUE_REF, SIZE_LEB, true },
	[DW_FORM_ref_addr] = { VALUE_REF, SIZE_REF_ADDR, false },
	[DW_FORM_ref_sup4] = { VALUE_SUP_REF, 4, false },
	[DW_FORM_ref_sup8] = { VALUE_SUP_REF, 8, false },
};

static struct reading reading_of(uint64_t form)
{
	if (form < ARRAY_SIZE(readings))
		return readings[form];
	switch (form) {
	case DW_FORM_GNU_addr_index:
		return (struct reading){ VALUE_ADDRESS_IDX, SIZE_LEB, false };
	case DW_FORM_GNU_str_index:
		return (struct reading){ VALUE_STR_IDX, SIZE_LEB, false };
	case DW_FORM_GNU_ref_alt:
		return (struct reading){ VALUE_SUP_REF, SIZE_OFFSET, false };
	case DW_FORM_GNU_strp_alt:
		return (struct reading){ VALUE_SUP_STR, SIZE_OFFSET, false };
	default:
		return (struct reading){ VALUE_NONE, SIZE_NONE, false };
	}
}

static uint64_t read_number(uint8_t size, struct form_sizes sizes, struct cursor *c)
{
	switch (size) {
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 3:
		return cursor_uint(c, 3);
	case 4:
		return cursor_u32(c);
	case SIZE_LEB:
		return cursor_uleb(c);
	case SIZE_SLEB:
		return (uint64_t)cursor_sleb(c);
	case SIZE_OFFSET:
		return sizes.offset == 4 ? cursor_u32(c) : cursor_u64(c);
	case SIZE_REF_ADDR:
		return sizes.ref_addr == 4 ? cursor_u32(c) : cursor_u64(c);
	default:
		return cursor_u64(c);
	}
}

/* Reads a value whose kind and place are known. @unit: NULL outside of any entry. */
static void read_value(const struct dwarf_unit *unit, uint64_t form, struct form_sizes sizes,
		       struct cursor *c, struct dwarf_value *ret)
{
	struct reading reading = reading_of(form);

	*ret = (struct dwarf_value){ .kind = VALUE_NONE };
	if (form == DW_FORM_flag_present) {
		*ret = (struct dwarf_value){ .kind = VALUE_NUMBER, .number = 1 };
		return;
	}
	if (reading.size == SIZE_NONE ||
	    (!unit && (reading.kind == VALUE_REF || reading.kind == VALUE_SUP_REF))) {
		form_skip(form, sizes, c);
		return;
	}
	ret->kind = (enum value_kind)reading.kind;
	if (reading.size == SIZE_TEXT)
		ret->text = cursor_text(c, SIZE_MAX);
	else
		ret->number =
			read_number(reading.size, sizes, c) + (reading.is_relative ? unit->off : 0);
}

void dwarf_value_of_form(uint64_t form, struct form_sizes sizes, struct cursor *c,
			 struct dwarf_value *ret)
{
	read_value(NULL, form, sizes, c, ret);
}

void dwarf_value_read(const struct dwarf_unit *unit, const struct abbrev_attr *attr,
		      struct cursor *c, struct dwarf_value *ret)
{
	uint64_t form = attr->form;

	if (form == FORM_PASSED) {
		ret->kind = VALUE_NONE;
		cursor_skip(c, attr->number);
		return;
	}
	if (form == DW_FORM_implicit_const) {
		*ret = (struct dwarf_value){
			.kind = VALUE_NUMBER,
			.number = (uint64_t)unit->abbrevs->values.list[attr->number],
		};
		return;
	}
	if (form == DW_FORM_indirect) {
		form = cursor_uleb(c);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) {
			*ret = (struct dwarf_value){ .kind = VALUE_NONE };
			cursor_fail(c);
			return;
		}
	}
	read_value(unit, form, unit->sizes, c, ret);
}

static const char *indexed_text(const struct dwarf_unit *unit, uint64_t idx)
{
	uint64_t base = unit->root.str_offsets_base, off;
	struct cursor c;

	/* GNU's form before DWARF 5 knows no base */
	if (base == UINT64_MAX)
		base = unit->version < 5 ? 0 : 2u * unit->sizes.offset;
	if (__builtin_mul_overflow(idx, unit->sizes.offset, &off) ||
	    __builtin_add_overflow(off, base, &off))
		return NULL;
	c = dwarf_at(unit->file, DWARF_STR_OFFSETS, off);
	off = cursor_uint(&c, unit->sizes.offset);
	return c.bad ? NULL : dwarf_text(unit->file, DWARF_STR, off);
}

const char *dwarf_value_text(const struct dwarf_unit *unit, struct dwarf_file *supplement,
			     const struct dwarf_value *value)
{
	switch ((int)value->kind) {
	case VALUE_TEXT:
		return value->text;
	case VALUE_STR:
		return dwarf_text(unit->file, DWARF_STR, value->number);
	case VALUE_LINE_STR:
		return dwarf_text(unit->file, DWARF_LINE_STR, value->number);
	case VALUE_SUP_STR:
		return supplement ? dwarf_text(supplement, DWARF_STR, value->number) : NULL;
	case VALUE_STR_IDX:
		return indexed_text(unit, value->number);
	default:
		return NULL;
	}
}

bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret)
{
	*ret = value->number;
	if (value->kind == VALUE_ADDRESS)
		return true;
	return value->kind == VALUE_ADDRESS_IDX && dwarf_unit_address(unit, value->number, ret);
}
