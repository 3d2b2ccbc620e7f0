/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/recount.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/keys.h"

struct counts {
	uint64_t shown, user_samples, frames, weight;
	uint64_t elided_samples, elided_most;
	uint64_t stops[FPL_STOP_COUNT];
	uint64_t frames_by_origin[FPL_ORIGIN_COUNT], samples_by_origin[FPL_ORIGIN_COUNT];
};

static void count_stack(const struct recording *recording, const struct recording_stack *stack,
			struct counts *counts)
{
	bool seen[FPL_ORIGIN_COUNT] = { false };

	counts->shown += stack->count;
	counts->weight += stack->weight;
	if (stack->no_user)
		return;
	counts->user_samples += stack->count;
	if (stack->stop >= FPL_STOP_COUNT)
		return;
	counts->stops[stack->stop] += stack->count;
	counts->frames += stack->count * (stack->nr_user - (stack->elided ? 1u : 0u));
	if (stack->elided) {
		counts->elided_samples += stack->count;
		if (stack->elided > counts->elided_most)
			counts->elided_most = stack->elided;
	}
	for (size_t i = 0; i < stack->nr_user; i++) {
		uint8_t origin = recording_frame_at(recording, stack, i)->origin;

		if (origin >= FPL_ORIGIN_COUNT)
			continue;
		counts->frames_by_origin[origin] += stack->count;
		if (!seen[origin])
			counts->samples_by_origin[origin] += stack->count;
		seen[origin] = true;
	}
}

static void set_number(struct recording *recording, const char *key, uint64_t value)
{
	for (size_t i = 0; i < recording->nr_numbers; i++)
		if (!strcmp(recording_string(recording, recording->numbers[i].key), key))
			recording->numbers[i].value = value;
}

static void set_one_of(struct recording *recording, const char *group, const char *key,
		       uint64_t value)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s.%s", group, key);
	set_number(recording, whole, value);
}

static bool is_of_places(const char *key)
{
	static const char *const heads[] = { "incomplete.", "run_time_code.", "script_", "locks",
					     "threads" };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (!strncmp(key, heads[i], strlen(heads[i])))
			return true;
	return false;
}

void recording_recount(struct recording *recording, bool parted)
{
	struct counts counts = { 0 };

	for (size_t i = 0; i < recording->nr_stacks; i++)
		count_stack(recording, &recording->stacks[i], &counts);
	set_number(recording, "shown", counts.shown);
	set_number(recording, "user_samples", counts.user_samples);
	set_number(recording, "complete", counts.stops[FPL_STOP_OUTERMOST]);
	set_number(recording, "frames", counts.frames);
	set_number(recording, "weight_ns", counts.weight);
	set_number(recording, "elided.samples", counts.elided_samples);
	set_number(recording, "elided.most", counts.elided_most);
	for (unsigned i = 0; i < FPL_STOP_COUNT; i++)
		set_one_of(recording, "stop", stop_key((enum fpl_stop)i), counts.stops[i]);
	for (unsigned i = 0; i < FPL_ORIGIN_COUNT; i++) {
		const char *key = origin_key((enum fpl_origin)i);

		set_one_of(recording, "frames_by_origin", key, counts.frames_by_origin[i]);
		set_one_of(recording, "samples_by_origin", key, counts.samples_by_origin[i]);
	}
	if (parted)
		recording_drop_numbers(recording, is_of_places);
}
