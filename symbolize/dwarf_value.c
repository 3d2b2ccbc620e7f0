/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_value.h"

#include "symbolize/dwarf_constants.h"

static void set(struct dwarf_value *ret, enum value_kind kind, uint64_t number)
{
	ret->kind = kind;
	ret->number = number;
}

/* Numbers and addresses; false: @form is none. */
static bool read_number(uint64_t form, struct form_sizes sizes, struct cursor *c,
			struct dwarf_value *ret)
{
	switch (form) {
	case DW_FORM_data1:
	case DW_FORM_flag:
		set(ret, VALUE_NUMBER, cursor_u8(c));
		return true;
	case DW_FORM_data2:
		set(ret, VALUE_NUMBER, cursor_u16(c));
		return true;
	case DW_FORM_data4:
		set(ret, VALUE_NUMBER, cursor_u32(c));
		return true;
	case DW_FORM_data8:
		set(ret, VALUE_NUMBER, cursor_u64(c));
		return true;
	case DW_FORM_udata:
		set(ret, VALUE_NUMBER, cursor_uleb(c));
		return true;
	case DW_FORM_sdata:
		set(ret, VALUE_NUMBER, (uint64_t)cursor_sleb(c));
		return true;
	case DW_FORM_sec_offset:
		set(ret, VALUE_NUMBER, cursor_uint(c, sizes.offset));
		return true;
	case DW_FORM_flag_present:
		set(ret, VALUE_NUMBER, 1);
		return true;
	case DW_FORM_addr:
		set(ret, VALUE_ADDRESS, cursor_u64(c));
		return true;
	case DW_FORM_rnglistx:
		set(ret, VALUE_RANGES_IDX, cursor_uleb(c));
		return true;
	default:
		return false;
	}
}

static bool read_text(uint64_t form, struct form_sizes sizes, struct cursor *c,
		      struct dwarf_value *ret)
{
	switch (form) {
	case DW_FORM_string:
		set(ret, VALUE_TEXT, 0);
		ret->text = cursor_text(c, SIZE_MAX);
		return true;
	case DW_FORM_strp:
		set(ret, VALUE_STR, cursor_uint(c, sizes.offset));
		return true;
	case DW_FORM_line_strp:
		set(ret, VALUE_LINE_STR, cursor_uint(c, sizes.offset));
		return true;
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		set(ret, VALUE_SUP_STR, cursor_uint(c, sizes.offset));
		return true;
	default:
		return false;
	}
}

/* Indexes into .debug_addr and .debug_str_offsets. */
static bool read_index(uint64_t form, struct cursor *c, struct dwarf_value *ret)
{
	switch (form) {
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		set(ret, VALUE_STR_IDX, cursor_uleb(c));
		return true;
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		set(ret, VALUE_STR_IDX, cursor_uint(c, form - DW_FORM_strx1 + 1));
		return true;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		set(ret, VALUE_ADDRESS_IDX, cursor_uleb(c));
		return true;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		set(ret, VALUE_ADDRESS_IDX, cursor_uint(c, form - DW_FORM_addrx1 + 1));
		return true;
	default:
		return false;
	}
}

static bool read_reference(const struct dwarf_unit *unit, uint64_t form, struct cursor *c,
			   struct dwarf_value *ret)
{
	switch (form) {
	case DW_FORM_ref1:
		set(ret, VALUE_REF, unit->off + cursor_u8(c));
		return true;
	case DW_FORM_ref2:
		set(ret, VALUE_REF, unit->off + cursor_u16(c));
		return true;
	case DW_FORM_ref4:
		set(ret, VALUE_REF, unit->off + cursor_u32(c));
		return true;
	case DW_FORM_ref8:
		set(ret, VALUE_REF, unit->off + cursor_u64(c));
		return true;
	case DW_FORM_ref_udata:
		set(ret, VALUE_REF, unit->off + cursor_uleb(c));
		return true;
	case DW_FORM_ref_addr:
		set(ret, VALUE_REF, cursor_uint(c, unit->sizes.ref_addr));
		return true;
	case DW_FORM_GNU_ref_alt:
		set(ret, VALUE_SUP_REF, cursor_uint(c, unit->sizes.offset));
		return true;
	case DW_FORM_ref_sup4:
		set(ret, VALUE_SUP_REF, cursor_u32(c));
		return true;
	case DW_FORM_ref_sup8:
		set(ret, VALUE_SUP_REF, cursor_u64(c));
		return true;
	default:
		return false;
	}
}

void dwarf_value_of_form(uint64_t form, struct form_sizes sizes, struct cursor *c,
			 struct dwarf_value *ret)
{
	*ret = (struct dwarf_value){ .kind = VALUE_NONE };
	if (!read_number(form, sizes, c, ret) && !read_text(form, sizes, c, ret) &&
	    !read_index(form, c, ret))
		form_skip(form, sizes, c);
}

void dwarf_value_read(const struct dwarf_unit *unit, const struct abbrev_attr *attr,
		      struct cursor *c, struct dwarf_value *ret)
{
	uint64_t form = attr->form;

	*ret = (struct dwarf_value){ .kind = VALUE_NONE };
	if (form == DW_FORM_implicit_const) {
		set(ret, VALUE_NUMBER, (uint64_t)attr->value);
		return;
	}
	if (form == DW_FORM_indirect) {
		form = cursor_uleb(c);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) {
			cursor_fail(c);
			return;
		}
	}
	if (!read_reference(unit, form, c, ret))
		dwarf_value_of_form(form, unit->sizes, c, ret);
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
