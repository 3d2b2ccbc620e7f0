/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions by the entries that describe them: through DW_AT_abstract_origin and
 * DW_AT_specification, from unit to unit and into the supplement; each read once.
 */
#pragma once

#include "base/id_table.h"
#include "symbolize/dwarf_unit.h"

/* An entry: its offset in .debug_info of the file, or of its supplement. */
struct dwarf_entry {
	uint64_t off : 63;
	uint64_t in_supplement : 1;
};

struct dwarf_name {
	struct dwarf_entry entry;
	const char *text; /* mangled only where demangling was not asked for; NULL: no name */
	uint32_t line;	  /* where it is declared, 0: not said */
	bool is_own;	  /* text is owned; else it is borrowed from a file */
};

struct dwarf_names {
	struct dwarf_units *units, *supplement; /* borrowed; the latter may be NULL */
	bool no_demangle;
	VECTOR(struct dwarf_name);
	struct id_table table; /* of list, by entry */
};

void dwarf_names_fini(struct dwarf_names *names);

/*
 * The name of @entry; NULL without memory. Valid until the next call. One without a name, or
 * unreadable, has text NULL.
 */
const struct dwarf_name *dwarf_names_find(struct dwarf_names *names, struct dwarf_entry entry);
