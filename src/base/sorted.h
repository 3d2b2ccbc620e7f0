/* SPDX-License-Identifier: Apache-2.0 */
/* Search in an array that ascends by a 64-bit field. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * How many of the @nr entries of @size bytes have at most @key in the field at @off: the index of
 * the first one above it, and, less one, of the last one that is not. @list may be NULL where @nr
 * is 0. Use SORTED_UP_TO.
 */
static inline size_t sorted_up_to(const void *list, size_t size, size_t off, size_t nr,
				  uint64_t key)
{
	size_t lo = 0, hi = nr;

	/* Invariant: entries before lo have at most key, those from hi on more. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t value;

		memcpy(&value, (const uint8_t *)list + mid * size + off, sizeof(value));
		if (value <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#define SORTED_UP_TO(list, field, nr, key)                                                        \
	({                                                                                        \
		_Static_assert(sizeof((list)->field) == sizeof(uint64_t), "a 64-bit field");      \
		sorted_up_to((list), sizeof(*(list)), offsetof(__typeof__(*(list)), field), (nr), \
			     (key));                                                              \
	})
