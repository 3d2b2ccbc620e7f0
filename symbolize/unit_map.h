/* SPDX-License-Identifier: Apache-2.0 */
/* Which unit has the code at an address: from .debug_aranges, else from the units themselves. */
#pragma once

#include "symbolize/dwarf_unit.h"
#include "symbolize/interval_map.h"

/*
 * Make the map of @units, of indexes in their list; *ret is to be zero before. Units that
 * .debug_aranges (DWARF 5, section 6.1.2) does not speak of are read for their ranges. What makes
 * no sense in either is left out. Errors: -ENOMEM; -E2BIG.
 */
FPL_MUST_CHECK int unit_map_make(struct dwarf_units *units, struct interval_map *ret,
				 struct fpl_err *err);
