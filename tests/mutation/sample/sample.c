/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

int sample_cap(int value, int limit)
{
	/* A comment with a < b, and "text" below: neither is code. */
	if (value > limit)
		return limit;
	return value;
}

int sample_sum(const int *values, int nr)
{
	int sum = 0;

	for (int i = 0; i < nr; i++)
		sum += values[i] & ~0;
	return sum;
}

int sample_count(int nr)
{
	int count = 0;

	while (count != nr)
		count++;
	return count;
}
