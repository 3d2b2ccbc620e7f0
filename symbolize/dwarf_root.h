/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the first entry of a unit says of the whole, with the abbreviations it needs. */
#pragma once

#include "symbolize/dwarf_unit.h"

/* The unit that holds the entry at @off, read; NULL: none does, or it is unreadable. */
struct dwarf_unit *dwarf_units_at(struct dwarf_units *units, uint64_t off);

/*
 * Read the abbreviations and the first entry of @unit, once. Errors: -EINVAL they make no sense,
 * also at later calls; -E2BIG over the file's work; -ENOMEM.
 */
FPL_MUST_CHECK int dwarf_unit_read(struct dwarf_units *units, struct dwarf_unit *unit,
				   struct fpl_err *err);
