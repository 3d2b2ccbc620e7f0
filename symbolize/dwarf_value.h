/* SPDX-License-Identifier: Apache-2.0 */
/* The value of an attribute (DWARF 5, section 7.5.5). */
#pragma once

#include "symbolize/dwarf_unit.h"

enum value_kind {
	VALUE_NONE,    /* passed over: nothing of use for names and lines */
	VALUE_NUMBER,  /* a constant, or an offset into a section */
	VALUE_ADDRESS, /* number: an address */
	VALUE_ADDRESS_IDX,
	VALUE_TEXT, /* text */
	VALUE_STR,  /* number: an offset into .debug_str */
	VALUE_LINE_STR,
	VALUE_STR_IDX,
	VALUE_SUP_STR, /* an offset into .debug_str of the supplement */
	VALUE_REF,     /* number: an offset into .debug_info */
	VALUE_SUP_REF, /* into that of the supplement */
	VALUE_RANGES_IDX,
};

struct dwarf_value {
	enum value_kind kind;
	uint64_t number;
	const char *text; /* borrowed from the file */
};

/* Read the value of @attr at @c, which is bad afterwards where it does not end. */
void dwarf_value_read(const struct dwarf_unit *unit, const struct abbrev_attr *attr,
		      struct cursor *c, struct dwarf_value *ret);

/* Read a value of @form that is no reference, outside of any entry: of a unit of @sizes. */
void dwarf_value_of_form(uint64_t form, struct form_sizes sizes, struct cursor *c,
			 struct dwarf_value *ret);

/*
 * The text that @value of @unit is; NULL: it is no text. @supplement: the file's, or NULL.
 * Borrowed from one of the files.
 */
const char *dwarf_value_text(const struct dwarf_unit *unit, struct dwarf_file *supplement,
			     const struct dwarf_value *value);

/* The address that @value is; false: it is no address. */
bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret);
