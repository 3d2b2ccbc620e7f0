/* SPDX-License-Identifier: Apache-2.0 */
/* Search in an array that ascends by a field of 64 or 32 bits. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Upper bound: the index of the first of the @nr entries of @size bytes whose field of @width bytes
 * (4 or 8) at @off is greater than @key; @nr if no entry is greater. @list may be NULL if @nr is 0.
 * Use SORTED_UP_TO, or SORTED_NUMBERS for plain numbers.
 */
static inline size_t sorted_up_to(const void *list, size_t size, size_t off, size_t width,
				  size_t nr, uint64_t key)
{
	size_t lo = 0, hi = nr;

	/* Invariant: entries before lo have at most key, those from hi on more. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const uint8_t *field = (const uint8_t *)list + mid * size + off;
		uint64_t value = 0; /* little-endian: the low bytes are the first */

		if (width == sizeof(uint32_t))
			memcpy(&value, field, sizeof(uint32_t));
		else
			memcpy(&value, field, sizeof(value));
		if (value <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#define SORTED_UP_TO(list, field, nr, key)                                                  \
	({                                                                                  \
		_Static_assert(sizeof((list)->field) == sizeof(uint64_t) ||                 \
				       sizeof((list)->field) == sizeof(uint32_t),           \
			       "a field of 64 or 32 bits");                                 \
		sorted_up_to((list), sizeof(*(list)), offsetof(__typeof__(*(list)), field), \
			     sizeof((list)->field), (nr), (key));                           \
	})

#define SORTED_NUMBERS(list, nr, key)                                                   \
	({                                                                              \
		_Static_assert(sizeof(*(list)) == sizeof(uint64_t) ||                   \
				       sizeof(*(list)) == sizeof(uint32_t),             \
			       "numbers of 64 or 32 bits");                             \
		sorted_up_to((list), sizeof(*(list)), 0, sizeof(*(list)), (nr), (key)); \
	})
