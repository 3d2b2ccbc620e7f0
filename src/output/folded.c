/* SPDX-License-Identifier: Apache-2.0 */
#include "output/folded.h"

#include <inttypes.h>

uint64_t folded_write(FILE *to, const struct names *names, const struct merged *merged)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < merged->nr; i++) {
		const struct merged_stack *stack = &merged->stacks[i];

		for (uint32_t j = 0; j < stack->nr; j++) {
			if (j)
				putc(';', to);
			fputs(strings_text(&names->strings, stack->ids[j]), to);
		}
		fprintf(to, " %" PRIu64 "\n", stack->count);
		shown += stack->count;
	}
	return shown;
}
