/* SPDX-License-Identifier: Apache-2.0 */
/* Two cases are not tested: a value equal to the limit, and a read behind the values. */
#include "sample.h"

#include <stdlib.h>

static int check_sum(void)
{
	int *values = malloc(2 * sizeof(*values));

	if (!values)
		return 1;
	values[0] = 5;
	values[1] = 3;

	int sum = sample_sum(values, 2);

	free(values);
	return sum != 8;
}

int main(void)
{
	return sample_cap(1, 5) != 1 || sample_cap(9, 5) != 5 || check_sum() ||
	       sample_count(3) != 3;
}
