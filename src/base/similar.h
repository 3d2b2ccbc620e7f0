/* SPDX-License-Identifier: Apache-2.0 */
/* How much two words differ, to guess what was meant by a mistyped one. */
#pragma once

#include <stddef.h>

/* Longer words are compared by so many bytes. */
#define SIMILAR_MAX 64u

/*
 * The fewest insertions, deletions and replacements of a byte that make @b of @a. Cost: the product
 * of their lengths.
 */
size_t similar_distance(const char *a, const char *b);
