/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in the columns of a terminal, whose characters take none, one or two, by the locale's
 * LC_CTYPE.
 */
#pragma once

#include <stddef.h>

/*
 * Copy as much of @text, which is escaped (base/text.h), to @dst [@size] as fits @columns. A
 * character the terminal cannot show, or that takes no column of its own (it would change what
 * stands beside it), becomes '?'. Always NUL-terminates; returns the columns that are taken. Cost:
 * O(columns).
 */
size_t width_fit(char *dst, size_t size, const char *text, size_t columns);

/* Columns of the terminal @fd; 0: not a terminal, or unknown. */
size_t width_of_terminal(int fd);

/* Columns that width_fit() would take with room for all of @text. Cost: O(length). */
size_t width_of(const char *text);
