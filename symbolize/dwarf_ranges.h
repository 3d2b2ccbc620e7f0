/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of address ranges: .debug_ranges (DWARF 4, section 2.17.3) and .debug_rnglists (DWARF 5).
 */
#pragma once

#include "symbolize/dwarf_value.h"

/* Takes a range [start, end), not empty. Another value than 0 ends the reading. */
typedef int (*dwarf_range_fn)(void *ctx, uint64_t start, uint64_t end);

/*
 * Read the list at @off, as dwarf_ranges_off() says it, of @unit. Errors: -EINVAL it does not end,
 * what came before was given; -E2BIG over the file's work; what @fn returns.
 */
FPL_MUST_CHECK int dwarf_ranges_read(const struct dwarf_unit *unit, uint64_t off, dwarf_range_fn fn,
				     void *ctx);

/* The offset of the list that @value of DW_AT_ranges names; UINT64_MAX: it names none. */
uint64_t dwarf_ranges_off(const struct dwarf_unit *unit, const struct dwarf_value *value);
