/* SPDX-License-Identifier: Apache-2.0 */
#include "top/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"

#define STACKS_OF_FUNCTION_MAX 200u /* below its callers and callees */

/* How often a function ran, or called another one. */
struct tallied {
	uint64_t self, total;
	size_t last_stack; /* index + 1 of the stack that counted it last: recursion counts once */
};

/* Whether a function matches the filter: asked once. */
enum match { MATCH_UNKNOWN, MATCH_NO, MATCH_YES };

struct maker {
	const struct model *model;
	const uint64_t *counts;
	const struct table_query *query;
	struct table *table;
	uint8_t *matches; /* owned [nr_functions]: enum match */
};

/* By state each function, sequence and process has a number for each: n * nr_states(maker) + state.
 */
static size_t nr_states(const struct maker *maker)
{
	return maker->query->by_state ? RECORDING_STATE_COUNT : 1;
}

/* The state of stack @idx, where rows are told apart by it. */
static uint8_t state_of(const struct maker *maker, size_t idx)
{
	return maker->query->by_state ? maker->model->recording->stacks[idx].state
				      : RECORDING_STATE_NONE;
}

/* Stacks that read the same, or are of one process. */
struct groups {
	const struct maker *maker;
	VECTOR(struct table_row) rows;
	uint32_t *of_numbers; /* owned: 1 + the row of each sequence or process, of a state; 0: none
				 yet */
};

static void groups_fini(struct groups *groups)
{
	vector_fini(&groups->rows);
	free(groups->of_numbers);
}

static void maker_fini(struct maker *maker)
{
	free(maker->matches);
}

void table_fini(struct table *table)
{
	vector_fini(table);
	*table = (struct table){ 0 };
}

static int push_heading(struct table *table, const char *text)
{
	return vector_push(table, { .kind = TABLE_ROW_HEADING, .heading = text });
}

static bool text_matches(const struct maker *maker, const char *text)
{
	return regexec(maker->query->filter, text, 0, NULL, 0) == 0;
}

static bool function_matches(struct maker *maker, uint32_t idx)
{
	if (!maker->query->filter)
		return true;
	if (maker->matches[idx] == MATCH_UNKNOWN)
		maker->matches[idx] =
			text_matches(maker, model_function(maker->model, idx)) ||
					text_matches(maker, model_place(maker->model, idx))
				? MATCH_YES
				: MATCH_NO;
	return maker->matches[idx] == MATCH_YES;
}

/* The functions of stack @idx that are shown, from the root on. */
static const uint32_t *functions_of(const struct maker *maker, size_t idx, uint32_t *ret_nr)
{
	return model_functions(maker->model, idx, maker->query->kernel, ret_nr);
}

static uint32_t sequence_of(const struct maker *maker, size_t idx)
{
	return model_sequence(maker->model, idx, maker->query->kernel);
}

/* Has the stack samples, and is it of who was asked for? */
static bool is_wanted(const struct maker *maker, size_t idx)
{
	const struct recording_stack *stack = &maker->model->recording->stacks[idx];
	uint32_t nr;

	if (!maker->counts[idx] || (maker->query->state && stack->state != maker->query->state) ||
	    (maker->query->has_process &&
	     (stack->pid != maker->query->pid || stack->task != maker->query->task)))
		return false;
	functions_of(maker, idx, &nr);
	return nr > 0;
}

static bool stack_matches(struct maker *maker, size_t idx)
{
	uint32_t nr;
	const uint32_t *list = functions_of(maker, idx, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (function_matches(maker, list[i]))
			return true;
	}
	return false;
}

static void tally(struct tallied *tallied, uint64_t count, size_t stack, bool self)
{
	if (self)
		tallied->self += count;
	if (tallied->last_stack != stack + 1)
		tallied->total += count;
	tallied->last_stack = stack + 1;
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct table_row *a = left, *b = right;
	const struct maker *maker = ctx;
	bool by_total = maker->query->sort == TABLE_SORT_TOTAL;
	uint64_t a_first = by_total ? a->total : a->self, b_first = by_total ? b->total : b->self;
	uint64_t a_then = by_total ? a->self : a->total, b_then = by_total ? b->self : b->total;

	if (a_first != b_first)
		return a_first > b_first ? -1 : 1;
	if (a_then != b_then)
		return a_then > b_then ? -1 : 1;
	if (a->kind == TABLE_ROW_FUNCTION) {
		int order = strcmp(model_function(maker->model, a->index),
				   model_function(maker->model, b->index));

		if (order)
			return order;
	}
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->state - b->state;
}

/* Sort the rows from @first on. */
static void sort_rows(struct maker *maker, size_t first)
{
	struct table *table = maker->table;

	if (table->nr > first)
		qsort_r(table->list + first, table->nr - first, sizeof(*table->list), compare_rows,
			maker);
}

/* A list for push_functions(); NULL: no memory. */
static struct tallied *tallied_list(const struct maker *maker)
{
	size_t nr = maker->model->index.functions.nr * nr_states(maker);

	return calloc(nr + 1, sizeof(struct tallied));
}

/* The place of @function in such a list, where stack @idx is counted. */
static size_t tallied_place(const struct maker *maker, uint32_t function, size_t idx)
{
	return function * nr_states(maker) + state_of(maker, idx);
}

/* Rows of the functions that were tallied, sorted. */
static int push_functions(struct maker *maker, const struct tallied *list, bool filtered)
{
	size_t first = maker->table->nr, nr = nr_states(maker);

	for (size_t i = 0; i < maker->model->index.functions.nr * nr; i++) {
		const struct table_row row = { .kind = TABLE_ROW_FUNCTION,
					       .index = (uint32_t)(i / nr),
					       .state = (uint8_t)(i % nr),
					       .self = list[i].self,
					       .total = list[i].total };

		if (!list[i].total || (filtered && !function_matches(maker, row.index)))
			continue;
		if (vector_push(maker->table, row))
			return -ENOMEM;
	}
	sort_rows(maker, first);
	return 0;
}

static int make_functions(struct maker *maker)
{
	const struct model *model = maker->model;
	AUTO_FREE struct tallied *list = tallied_list(maker);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->stacks.nr; i++) {
		uint32_t nr;
		const uint32_t *functions = functions_of(maker, i, &nr);

		if (!is_wanted(maker, i))
			continue;
		for (uint32_t j = 0; j < nr; j++)
			tally(&list[tallied_place(maker, functions[j], i)], maker->counts[i], i,
			      j + 1 == nr);
	}
	return push_functions(maker, list, true);
}

/* Count stack @idx with those of its @number, of which there are @nr, and of its state. */
static int group(struct groups *groups, uint32_t number, size_t nr, enum table_row_kind kind,
		 uint32_t idx)
{
	const struct maker *maker = groups->maker;
	uint64_t count = maker->counts[idx];
	uint8_t state = state_of(maker, idx);
	size_t place = number * nr_states(maker) + state;

	if (!groups->of_numbers)
		groups->of_numbers = calloc(nr * nr_states(maker), sizeof(*groups->of_numbers));
	if (!groups->of_numbers)
		return -ENOMEM;
	if (!groups->of_numbers[place]) {
		if (vector_push(&groups->rows, { .kind = kind, .state = state }))
			return -ENOMEM;
		groups->of_numbers[place] = (uint32_t)groups->rows.nr;
	}

	struct table_row *row = &groups->rows.list[groups->of_numbers[place] - 1];

	/* the last: a process may have taken another name */
	row->index = idx;
	row->self += count;
	row->total += count;
	return 0;
}

static int group_stack(struct groups *groups, uint32_t idx)
{
	return group(groups, sequence_of(groups->maker, idx), groups->maker->model->sequences.nr,
		     TABLE_ROW_STACK, idx);
}

/* Rows of the groups, sorted, at most @max. */
static int push_groups(struct maker *maker, const struct groups *groups, size_t max)
{
	size_t first = maker->table->nr;

	for (size_t i = 0; i < groups->rows.nr; i++) {
		if (vector_push(maker->table, groups->rows.list[i]))
			return -ENOMEM;
	}
	sort_rows(maker, first);
	if (maker->table->nr > first + max)
		maker->table->nr = first + max;
	return 0;
}

static int make_stacks(struct maker *maker)
{
	CLEANUP(groups_fini) struct groups groups = { .maker = maker };
	int err = 0;

	for (uint32_t i = 0; !err && i < maker->model->stacks.nr; i++) {
		if (is_wanted(maker, i) && stack_matches(maker, i))
			err = group_stack(&groups, i);
	}
	return err ? err : push_groups(maker, &groups, SIZE_MAX / 2);
}

static bool process_matches(const struct maker *maker, uint32_t idx)
{
	char pid[16];

	if (!maker->query->filter)
		return true;
	snprintf(pid, sizeof(pid), "%u", maker->model->recording->stacks[idx].pid);
	return text_matches(maker, model_comm(maker->model, idx)) || text_matches(maker, pid);
}

static int make_processes(struct maker *maker)
{
	CLEANUP(groups_fini) struct groups groups = { .maker = maker };
	int err = 0;

	for (uint32_t i = 0; !err && i < maker->model->stacks.nr; i++) {
		if (is_wanted(maker, i) && process_matches(maker, i))
			err = group(&groups, maker->model->stacks.list[i].process,
				    maker->model->processes.nr, TABLE_ROW_PROCESS, i);
	}
	return err ? err : push_groups(maker, &groups, SIZE_MAX / 2);
}

/* The callers of a function, and its callees. */
struct neighbours {
	struct tallied *callers, *callees; /* owned: of tallied_list() */
	struct tallied itself;
};

static void neighbours_fini(struct neighbours *neighbours)
{
	free(neighbours->callers);
	free(neighbours->callees);
}

/* Count stack @idx at every place the function has in it. Returns whether it has any. */
static bool tally_neighbours(const struct maker *maker, struct neighbours *neighbours, size_t idx)
{
	uint32_t nr, function = maker->query->function;
	const uint32_t *list = functions_of(maker, idx, &nr);
	uint64_t count = maker->counts[idx];
	bool found = false;

	for (uint32_t i = 0; i < nr; i++) {
		if (list[i] != function)
			continue;
		found = true;
		tally(&neighbours->itself, count, idx, i + 1 == nr);
		if (i > 0)
			tally(&neighbours->callers[tallied_place(maker, list[i - 1], idx)], count,
			      idx, false);
		if (i + 1 < nr)
			tally(&neighbours->callees[tallied_place(maker, list[i + 1], idx)], count,
			      idx, i + 2 == nr);
	}
	return found;
}

static int push_neighbours(struct maker *maker, const struct neighbours *neighbours,
			   const struct groups *groups)
{
	const struct table_row itself = { .kind = TABLE_ROW_FUNCTION,
					  .index = maker->query->function,
					  .state = maker->query->state,
					  .self = neighbours->itself.self,
					  .total = neighbours->itself.total };
	struct table *table = maker->table;

	return push_heading(table, "called by") ||
			       push_functions(maker, neighbours->callers, false) ||
			       push_heading(table, "function") || vector_push(table, itself) ||
			       push_heading(table, "calls") ||
			       push_functions(maker, neighbours->callees, false) ||
			       push_heading(table, "hottest stacks") ||
			       push_groups(maker, groups, STACKS_OF_FUNCTION_MAX)
		       ? -ENOMEM
		       : 0;
}

static int make_neighbours(struct maker *maker)
{
	const struct model *model = maker->model;
	CLEANUP(groups_fini) struct groups groups = { .maker = maker };
	CLEANUP(neighbours_fini)
	struct neighbours neighbours = {
		.callers = tallied_list(maker),
		.callees = tallied_list(maker),
	};
	int err = neighbours.callers && neighbours.callees ? 0 : -ENOMEM;

	if (maker->query->function >= model->index.functions.nr)
		return err;
	for (uint32_t i = 0; !err && i < model->stacks.nr; i++) {
		if (is_wanted(maker, i) && tally_neighbours(maker, &neighbours, i))
			err = group_stack(&groups, i);
	}
	return err ? err : push_neighbours(maker, &neighbours, &groups);
}

/* The frames of one stack, from the leaf on. */
static int make_frames(struct maker *maker)
{
	uint32_t nr, idx = maker->query->stack;
	const uint32_t *list;
	uint64_t count = 0;
	int err = 0;

	if (idx >= maker->model->stacks.nr)
		return 0;
	list = functions_of(maker, idx, &nr);
	for (uint32_t i = 0; i < maker->model->stacks.nr; i++) {
		if (is_wanted(maker, i) && sequence_of(maker, i) == sequence_of(maker, idx))
			count += maker->counts[i];
	}
	for (uint32_t i = nr; !err && i-- > 0;)
		err = vector_push(maker->table, { .kind = TABLE_ROW_FUNCTION,
						  .index = list[i],
						  .state = maker->query->state,
						  .self = i + 1 == nr ? count : 0,
						  .total = count });
	return err;
}

int table_make(const struct model *model, const uint64_t *counts, const struct table_query *query,
	       struct table *ret)
{
	static int (*const make[TABLE_VIEW_COUNT])(struct maker *maker) = {
		[TABLE_VIEW_FUNCTIONS] = make_functions, [TABLE_VIEW_STACKS] = make_stacks,
		[TABLE_VIEW_PROCESSES] = make_processes, [TABLE_VIEW_NEIGHBOURS] = make_neighbours,
		[TABLE_VIEW_FRAMES] = make_frames,
	};
	CLEANUP(maker_fini)
	struct maker maker = {
		.model = model,
		.counts = counts,
		.query = query,
		.table = ret,
		.matches = calloc(model->index.functions.nr + 1, sizeof(*maker.matches)),
	};

	*ret = (struct table){ 0 };
	for (size_t i = 0; i < model->stacks.nr; i++) {
		ret->sum += counts[i];
		ret->states[model->recording->stacks[i].state] += counts[i];
		ret->shown += is_wanted(&maker, i) ? counts[i] : 0;
	}
	ret->samples = ret->sum;
	return maker.matches ? make[query->view](&maker) : -ENOMEM;
}
