/* SPDX-License-Identifier: Apache-2.0 */
/* Check a table compiled by another process: hostile bytes. */
#pragma once

#include "unwind/table.h"

/*
 * Check that every lookup in @table ends inside it: directory, pages, dictionaries, rows and rules
 * lie where bpf/shared.h says, in their chunks, with values the format knows. Whether the rules are
 * true of the file cannot be checked.
 *
 * Errors: -EINVAL, the first fault named. Cost: reads the image once.
 */
FPL_MUST_CHECK int table_check(const struct table *table, struct fpl_err *err);
