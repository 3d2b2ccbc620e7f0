/* SPDX-License-Identifier: Apache-2.0 */
#include "base/similar.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t similar_distance(const char *a, const char *b)
{
	size_t nr_a = strnlen(a, SIMILAR_MAX), nr_b = strnlen(b, SIMILAR_MAX);
	size_t row[SIMILAR_MAX + 1];

	/* row[j]: from the first i bytes of @a to the first j of @b */
	for (size_t j = 0; j <= nr_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= nr_a; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nr_b; j++) {
			size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = least(replaced, 1 + least(row[j], row[j - 1]));
		}
	}
	return row[nr_b];
}
