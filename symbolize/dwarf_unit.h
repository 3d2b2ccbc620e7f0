/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units of .debug_info (DWARF 5, section 7.5.1): where they are, and of those that are asked
 * for, what their first entry says of the whole.
 */
#pragma once

#include "symbolize/dwarf_abbrev.h"

struct line_table;
struct scope_tree;

/* A unit's first entry. Offsets are UINT64_MAX if it does not say them. */
struct dwarf_root {
	const char *name, *comp_dir; /* borrowed from the file, or NULL */
	uint64_t low_pc;	     /* also what ranges are relative to */
	uint64_t high_pc;	     /* 0: not said */
	uint64_t ranges_off;	     /* in .debug_ranges or .debug_rnglists */
	uint64_t stmt_list_off;	     /* in .debug_line */
	uint64_t str_offsets_base, addr_base, rnglists_base;
};

struct dwarf_unit {
	struct dwarf_file *file;     /* borrowed */
	uint64_t off, root_off, end; /* in .debug_info: of its header, its first entry, behind it */
	uint64_t abbrev_off;
	uint16_t version;
	struct form_sizes sizes;
	uint8_t type;		      /* DW_UT_*; before DWARF 5 DW_UT_compile */
	bool is_read;		      /* root and abbrevs, as far as that went */
	bool has_parts;		      /* scopes and lines were read, as far as that went */
	struct scope_tree *scopes;    /* owned by the index */
	struct line_table *lines;     /* owned by the index */
	struct abbrev_table *abbrevs; /* borrowed from the list; NULL: unreadable */
	struct dwarf_root root;
};

struct dwarf_units {
	struct dwarf_file *file;	      /* borrowed */
	VECTOR(struct dwarf_unit);	      /* ascending off */
	VECTOR(struct abbrev_table *) tables; /* owned, ascending off: each read once */
};

#define DWARF_UNITS_MAX (1u << 18)

/*
 * List the units of @file, which has to stay, up to one whose header makes no sense. Errors:
 * -ENOMEM.
 */
FPL_MUST_CHECK int dwarf_units_init(struct dwarf_units *units, struct dwarf_file *file,
				    struct fpl_err *err);
void dwarf_units_fini(struct dwarf_units *units);

/* A cursor over the entries of @unit from @off of .debug_info on; bad where @off is not in it. */
struct cursor dwarf_unit_entries(const struct dwarf_unit *unit, uint64_t off);

/* Entry @idx of .debug_addr; false: no such entry. */
bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t idx, uint64_t *ret);
