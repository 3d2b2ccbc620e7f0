/* SPDX-License-Identifier: Apache-2.0 */
#include "report/code_tally.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "naming/names.h"

struct process_tally {
	struct code_process process;
	uint64_t unnamed;
};

static void count_stack(const struct profile *profile, const struct profile_stack *stack,
			struct code_tally *tally)
{
	bool was_replaced = false;

	for (size_t i = 0; i < stack->nr_user; i++) {
		uint64_t frame = stack->frames[i];
		struct code_name name;

		if (!frame_is_raw(frame) || frame_is_gap(frame) || fpl_frame_is_script(frame))
			continue;
		tally->frames += stack->count;
		if (!profile_find_code(
			    profile, stack,
			    frame_lookup_pc(frame_code_addr(frame), frame_is_exact(frame)), &name))
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

static int compare_processes(const void *left, const void *right)
{
	const struct code_process *a = &((const struct process_tally *)left)->process;
	const struct code_process *b = &((const struct process_tally *)right)->process;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

bool code_tally_most_unnamed(const struct profile *profile, struct code_process *ret)
{
	AUTO_FREE struct process_tally *list = must_calloc(profile->nr_stacks, sizeof(*list));
	size_t nr = 0;
	uint64_t sum = 0, most = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		struct code_tally tally = { 0 };

		count_stack(profile, stack, &tally);
		if (tally.frames > tally.named)
			list[nr++] = (struct process_tally){
				.process = { .start_ns = stack->start_ns, .pid = stack->pid },
				.unnamed = tally.frames - tally.named,
			};
	}
	qsort(list, nr, sizeof(*list), compare_processes);
	for (size_t i = 0; i < nr; i++) {
		sum = i && !compare_processes(&list[i - 1], &list[i]) ? sum : 0;
		sum += list[i].unnamed;
		if (sum > most) {
			most = sum;
			*ret = list[i].process;
		}
	}
	return most > 0;
}
