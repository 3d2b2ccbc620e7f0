/* SPDX-License-Identifier: Apache-2.0 */
#include "report/recording_tally.h"

#include <string.h>

#include "recording/keys.h"

void recording_losses_count(const struct recording *recording, struct recording_losses *ret)
{
	*ret = (struct recording_losses){ .sum = 0 };
	for (size_t i = 0; i < recording->nr_numbers; i++) {
		const struct recording_number *number = &recording->numbers[i];
		const char *key = recording_string(recording, number->key);

		if (strncmp(key, "lost.", 5) != 0)
			continue;
		ret->told = true;
		ret->sum += number->value;
		for (unsigned reason = 0; reason < FPL_LOST_COUNT; reason++) {
			if (!strcmp(key + 5, lost_key((enum fpl_lost)reason)))
				ret->by_reason[reason] = number->value;
		}
	}
}

static void count_origins(const struct recording *recording, const struct recording_stack *stack,
			  struct recording_tally *ret)
{
	bool seen[FPL_ORIGIN_COUNT] = { false };

	for (uint32_t i = 0; i < stack->nr_user; i++) {
		uint32_t frame = recording->frame_ids[stack->first_frame + i];
		uint8_t origin = recording->frames[frame].origin;

		if (origin >= FPL_ORIGIN_COUNT || seen[origin])
			continue;
		seen[origin] = true;
		ret->by_origin[origin] += stack->count;
	}
}

void recording_tally_count(const struct recording *recording, struct recording_tally *ret)
{
	*ret = (struct recording_tally){ .nr = 0 };
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		bool is_told = stack->stop < FPL_STOP_COUNT;

		if (stack->no_user || (!is_told && !stack->nr_user))
			continue;
		ret->nr += stack->count;
		if (is_told) {
			ret->told += stack->count;
			ret->stops[stack->stop] += stack->count;
		}
		count_origins(recording, stack, ret);
	}
	ret->judged = ret->told - ret->stops[FPL_STOP_EXITING] - ret->stops[FPL_STOP_EXECING];
}
