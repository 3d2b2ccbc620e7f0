/* SPDX-License-Identifier: Apache-2.0 */
/* An unwind row as `tables --rows` prints it; the grammar is in fpless-tables(1). */
#pragma once

#include <stddef.h>

#include "unwind/rows.h"

/* Room for the longest row: each of eight parts is at most "*(r15-" 20 digits ")" and a label. */
enum { ROW_TEXT_SIZE = 512 };

/*
 * Write what follows the address of @row to @buf: "cfa=... ra=... rbx=... ...", or "none" where
 * @row is NULL.
 */
void row_text(const struct cfi_row *row, char buf[static ROW_TEXT_SIZE]);
