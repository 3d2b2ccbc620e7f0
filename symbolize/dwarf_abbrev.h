/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviation tables (DWARF 5, section 7.5.3), made for passing over entries: what an entry takes
 * is a few steps, mostly one of a fixed number of bytes.
 */
#pragma once

#include "base/vector.h"
#include "symbolize/dwarf_file.h"

/* Sizes that differ from unit to unit, bytes. */
struct form_sizes {
	uint8_t offset;	  /* 4 or 8 */
	uint8_t ref_addr; /* DW_FORM_ref_addr: 8 in DWARF 2, like an address, else like an offset */
};

/*
 * Only attributes that attr_is_wanted() of dwarf_abbrev.c lists stand here: others of a fixed
 * size, as many as stand together, are one of name 0 and FORM_PASSED.
 */
struct abbrev_attr {
	uint16_t name, form; /* DW_AT_*, DW_FORM_* */
	uint32_t number;     /* implicit_const: index in values; FORM_PASSED: how many bytes */
};

#define FORM_PASSED UINT16_MAX

#define ABBREV_VARIES UINT32_MAX

struct abbrev {
	uint64_t code;
	uint32_t first_attr, nr_attrs;
	uint32_t first_step, nr_steps;
	uint32_t size; /* of the attributes of any entry, bytes; ABBREV_VARIES */
	uint16_t tag;  /* DW_TAG_*; larger ones have no meaning: 0 */
	bool has_children;
};

struct abbrev_table {
	uint64_t off;		 /* in .debug_abbrev */
	struct form_sizes sizes; /* of the units it is for */
	bool is_dense;		 /* codes are 1, 2, ... */
	VECTOR(struct abbrev);	 /* ascending code */
	VECTOR(struct abbrev_attr) attrs;
	VECTOR(int64_t) values;
	VECTOR(uint32_t) steps;
};

/*
 * Read the table at @off of @file for units of @sizes. Errors: -EINVAL it makes no sense;
 * -E2BIG over the file's work; -ENOMEM.
 */
FPL_MUST_CHECK int abbrev_table_create(struct dwarf_file *file, uint64_t off,
				       struct form_sizes sizes, struct abbrev_table **ret,
				       struct fpl_err *err);
void abbrev_table_destroy(struct abbrev_table *table);

/* The abbreviation of @code, or NULL. */
const struct abbrev *abbrev_find_sparse(const struct abbrev_table *table, uint64_t code);

static inline const struct abbrev *abbrev_find(const struct abbrev_table *table, uint64_t code)
{
	if (table->is_dense)
		return code - 1 < table->nr ? &table->list[code - 1] : NULL;
	return abbrev_find_sparse(table, code);
}

/* For abbrev_skip(), where the size varies. */
void abbrev_skip_steps(const struct abbrev_table *table, const struct abbrev *abbrev,
		       struct cursor *c);

/* Pass over the attributes of an entry of @abbrev: @c is bad where they do not end. */
static inline void abbrev_skip(const struct abbrev_table *table, const struct abbrev *abbrev,
			       struct cursor *c)
{
	if (abbrev->size != ABBREV_VARIES)
		cursor_skip(c, abbrev->size);
	else
		abbrev_skip_steps(table, abbrev, c);
}

/* Pass over one value of @form, which is not implicit. */
void form_skip(uint64_t form, struct form_sizes sizes, struct cursor *c);
