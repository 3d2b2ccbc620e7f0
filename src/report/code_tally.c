/* SPDX-License-Identifier: Apache-2.0 */
#include "report/code_tally.h"

#include "naming/names.h"

static void count_stack(const struct profile *profile, const struct profile_stack *stack,
			struct code_tally *tally)
{
	bool was_replaced = false;

	for (size_t i = 0; i < stack->nr_user; i++) {
		uint64_t frame = stack->frames[i];
		struct code_name name;

		if (!frame_is_raw(frame) || frame_is_gap(frame))
			continue;
		tally->frames += stack->count;
		if (!profile->code_names ||
		    !code_names_find(profile->code_names, stack->gen,
				     frame_lookup_pc(frame_addr(frame), frame_is_exact(frame)),
				     stack->first_ns, &name))
			continue;
		tally->named += stack->count;
		was_replaced = was_replaced || name.was_replaced;
	}
	if (was_replaced)
		tally->uncertain += stack->count - 1;
}

void code_tally_count(const struct profile *profile, struct code_tally *ret)
{
	*ret = (struct code_tally){ 0 };
	if (profile->code_names)
		code_names_stats(profile->code_names, &ret->files);
	for (size_t i = 0; profile->user && i < profile->nr_stacks; i++)
		count_stack(profile, &profile->stacks[i], ret);
}
