/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a unit and what is inlined into them: which code belongs to which. */
#pragma once

#include "symbolize/dwarf_names.h"
#include "symbolize/interval_map.h"

#define SCOPE_NONE UINT32_MAX

struct scope {
	struct dwarf_entry entry; /* that names it, or leads there */
	uint32_t parent;	  /* index of what it is inlined into; SCOPE_NONE: a function */
	uint32_t call_file, call_line, call_column; /* of an inlined one: where it is called */
};

struct scope_tree {
	VECTOR(struct scope);
	struct interval_map map; /* of indexes in list */
};

/*
 * Read the entries of @unit, which is read. What makes no sense half-way ends the reading: the
 * scopes before are kept. Errors: -E2BIG over the file's work; -ENOMEM.
 */
FPL_MUST_CHECK int scope_tree_create(const struct dwarf_unit *unit, struct scope_tree **ret,
				     struct fpl_err *err);
void scope_tree_destroy(struct scope_tree *tree);

/* The innermost scope at @vaddr; NULL: none. Cost: O(log n). */
const struct scope *scope_tree_find(const struct scope_tree *tree, uint64_t vaddr);
