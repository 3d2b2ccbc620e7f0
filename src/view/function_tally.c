/* SPDX-License-Identifier: Apache-2.0 */
#include "view/function_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void function_tallies_fini(struct function_tallies *tallies)
{
	vector_fini(&tallies->slots);
	free(tallies->list);
	free(tallies->last_stack);
}

/* The leaf of a stack is its innermost kernel frame where it has any, else the user leaf; of a wait
 * that of the thread that waited. */
static void count_stack(struct function_tallies *tallies, uint32_t stack_idx)
{
	const struct function_index *index = tallies->index;
	const struct recording_stack *stack = &index->texts->recording->stacks[stack_idx];
	struct stack_slots *slots = &tallies->slots;
	uint64_t shown = measure_stack(tallies->measure, stack);

	slots->nr = 0;
	must_stack_slots(index->texts, stack, &(struct stack_slot_options){ .own = true }, slots);
	for (size_t i = 0; i < slots->nr; i++) {
		uint32_t function = index->of_slots[slots->list[i]];
		struct function_tally *tally = &tallies->list[function];

		if (i + 1 == slots->nr)
			tally->self += shown;
		tallies->nr += !tallies->last_stack[function];
		if (tallies->last_stack[function] != stack_idx + 1)
			tally->total += shown;
		tallies->last_stack[function] = stack_idx + 1;
	}
}

void function_tallies_init(const struct function_index *index, const struct measure *measure,
			   struct function_tallies *tallies)
{
	const struct recording *recording = index->texts->recording;
	size_t nr = index->functions.nr;

	*tallies = (struct function_tallies){ .index = index, .measure = measure };
	tallies->list = must_calloc(nr + 1, sizeof(*tallies->list));
	tallies->last_stack = must_calloc(nr + 1, sizeof(*tallies->last_stack));
	for (size_t i = 0; i < recording->nr_stacks; i++)
		count_stack(tallies, (uint32_t)i);
}

/* Is function @left hotter than @right? */
static bool is_hotter(const struct function_tallies *tallies, uint32_t left, uint32_t right)
{
	const struct strings *strings = &tallies->index->texts->strings;
	const struct function_tally *a = &tallies->list[left], *b = &tallies->list[right];
	const struct shown_function *f = &tallies->index->functions.list[left];
	const struct shown_function *g = &tallies->index->functions.list[right];

	if (a->self != b->self)
		return a->self > b->self;
	if (a->total != b->total)
		return a->total > b->total;
	int order = strcmp(strings_text(strings, f->text), strings_text(strings, g->text));
	return order ? order < 0 : f->place < g->place;
}

size_t function_tallies_hottest(const struct function_tallies *tallies, uint32_t *ret, size_t max)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < tallies->index->functions.nr; i++) {
		size_t place;

		if (!tallies->last_stack[i])
			continue;
		place = nr < max ? nr++ : max;
		for (; place && is_hotter(tallies, i, ret[place - 1]); place--)
			if (place < max)
				ret[place] = ret[place - 1];
		if (place < max)
			ret[place] = i;
	}
	return nr;
}
