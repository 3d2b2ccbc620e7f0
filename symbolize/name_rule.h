/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several names of one address is shown. In this order:
 *
 *   1. a function (STT_FUNC, STT_GNU_IFUNC) before an untyped label
 *   2. an exported name (global, weak) before a local one
 *   3. fewer leading underscores: malloc before __libc_malloc; those of __vdso_clock_gettime do not
 *      count, so that it is not mistaken for libc's clock_gettime, which calls it
 *   4. global before weak
 *   5. the shorter name: open before open64
 *   6. the smaller name in byte order
 *
 * So the name depends on the names alone, not on the order of a table.
 */
#pragma once

#include <stdbool.h>

enum name_binding { NAME_GLOBAL, NAME_WEAK, NAME_LOCAL };

struct name_candidate {
	const char *text;
	enum name_binding binding;
	bool untyped;
};

/* Negative when @a is to be shown rather than @b, positive when @b, 0 when they are equal. */
int name_rule_compare(const struct name_candidate *a, const struct name_candidate *b);
