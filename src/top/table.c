/* SPDX-License-Identifier: Apache-2.0 */
#include "top/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

/* Stacks that read the same, or are of one process: found by what the first of them is. */
struct groups {
	const struct maker *maker;
	struct table_row *rows; /* owned [nr] */
	size_t nr, room;
	struct id_table ids;
};

static void groups_fini(struct groups *groups)
{
	free(groups->rows);
	id_table_fini(&groups->ids);
}

static void maker_fini(struct maker *maker)
{
	free(maker->matches);
}

void table_fini(struct table *table)
{
	free(table->rows);
	*table = (struct table){ 0 };
}

static int push_row(struct table_row **rows, size_t *nr, size_t *room, const struct table_row *row)
{
	if (*nr == *room) {
		size_t wanted = *room ? 2 * *room : 64;
		struct table_row *bigger = reallocarray(*rows, wanted, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		*rows = bigger;
		*room = wanted;
	}
	(*rows)[(*nr)++] = *row;
	return 0;
}

static int push(struct table *table, const struct table_row *row)
{
	return push_row(&table->rows, &table->nr, &table->room, row);
}

static int push_heading(struct table *table, const char *text)
{
	return push(table, &(struct table_row){ .kind = TABLE_ROW_HEADING, .heading = text });
}

static bool text_matches(const struct maker *maker, uint32_t text)
{
	return regexec(maker->query->filter, model_text(maker->model, text), 0, NULL, 0) == 0;
}

static bool function_matches(struct maker *maker, uint32_t idx)
{
	const struct model_function *function = &maker->model->functions[idx];

	if (!maker->query->filter)
		return true;
	if (maker->matches[idx] == MATCH_UNKNOWN)
		maker->matches[idx] =
			text_matches(maker, function->text) || text_matches(maker, function->place)
				? MATCH_YES
				: MATCH_NO;
	return maker->matches[idx] == MATCH_YES;
}

static const uint32_t *sequence_of(const struct maker *maker, size_t idx, uint32_t *ret_nr)
{
	return model_sequence(maker->model, idx, maker->query->kernel, ret_nr);
}

/* Has the stack samples, and is it of who was asked for? */
static bool is_wanted(const struct maker *maker, size_t idx)
{
	const struct recording_stack *stack = &maker->model->recording->stacks[idx];
	uint32_t nr;

	if (!maker->counts[idx] ||
	    (maker->query->has_process &&
	     (stack->pid != maker->query->pid || stack->task != maker->query->task)))
		return false;
	sequence_of(maker, idx, &nr);
	return nr > 0;
}

static bool stack_matches(struct maker *maker, size_t idx)
{
	uint32_t nr;
	const uint32_t *sequence = sequence_of(maker, idx, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (function_matches(maker, sequence[i]))
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
		const struct model *model = maker->model;
		int order = strcmp(model_text(model, model->functions[a->index].text),
				   model_text(model, model->functions[b->index].text));

		if (order)
			return order;
	}
	return (a->index > b->index) - (a->index < b->index);
}

/* Sort the rows from @first on. */
static void sort_rows(struct maker *maker, size_t first)
{
	struct table *table = maker->table;

	if (table->nr > first)
		qsort_r(table->rows + first, table->nr - first, sizeof(*table->rows), compare_rows,
			maker);
}

/* Rows of the functions that were tallied, sorted. */
static int push_functions(struct maker *maker, const struct tallied *list, bool filtered)
{
	size_t first = maker->table->nr;

	for (uint32_t i = 0; i < maker->model->nr_functions; i++) {
		const struct table_row row = { .kind = TABLE_ROW_FUNCTION,
					       .index = i,
					       .self = list[i].self,
					       .total = list[i].total };

		if (!list[i].total || (filtered && !function_matches(maker, i)))
			continue;
		if (push(maker->table, &row))
			return -ENOMEM;
	}
	sort_rows(maker, first);
	return 0;
}

static int make_functions(struct maker *maker)
{
	const struct model *model = maker->model;
	AUTO_FREE struct tallied *list = calloc(model->nr_functions + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->nr_stacks; i++) {
		uint32_t nr;
		const uint32_t *sequence = sequence_of(maker, i, &nr);

		if (!is_wanted(maker, i))
			continue;
		for (uint32_t j = 0; j < nr; j++)
			tally(&list[sequence[j]], maker->counts[i], i, j == 0);
	}
	return push_functions(maker, list, true);
}

static bool stacks_read_the_same(const struct maker *maker, uint32_t a, uint32_t b)
{
	uint32_t nr_a, nr_b;
	const uint32_t *of_a = sequence_of(maker, a, &nr_a);
	const uint32_t *of_b = sequence_of(maker, b, &nr_b);

	return maker->model->stacks[a].comm == maker->model->stacks[b].comm && nr_a == nr_b &&
	       memcmp(of_a, of_b, nr_a * sizeof(*of_a)) == 0;
}

static bool group_reads_as(const void *ctx, uint32_t index, const void *key)
{
	const struct groups *groups = ctx;

	return stacks_read_the_same(groups->maker, groups->rows[index].index,
				    *(const uint32_t *)key);
}

static bool group_is_process(const void *ctx, uint32_t index, const void *key)
{
	const struct groups *groups = ctx;
	const struct recording_stack *stacks = groups->maker->model->recording->stacks;
	const struct recording_stack *a = &stacks[groups->rows[index].index];
	const struct recording_stack *b = &stacks[*(const uint32_t *)key];

	return a->pid == b->pid && a->task == b->task;
}

/* Count stack @idx with those that @equal says are the same. */
static int group(struct groups *groups, uint64_t hash, enum table_row_kind kind,
		 bool (*equal)(const void *ctx, uint32_t index, const void *key), uint32_t idx)
{
	uint64_t count = groups->maker->counts[idx];
	uint32_t found = id_table_find(&groups->ids, hash, equal, groups, &idx);

	if (found == ID_TABLE_NONE) {
		found = (uint32_t)groups->nr;
		if (push_row(&groups->rows, &groups->nr, &groups->room,
			     &(struct table_row){ .kind = kind }) ||
		    id_table_add(&groups->ids, hash, found))
			return -ENOMEM;
	}
	/* the last: a process may have taken another name */
	groups->rows[found].index = idx;
	groups->rows[found].self += count;
	groups->rows[found].total += count;
	return 0;
}

static int group_stack(struct groups *groups, uint32_t idx)
{
	const struct maker *maker = groups->maker;
	uint32_t nr, comm = maker->model->stacks[idx].comm;
	const uint32_t *sequence = sequence_of(maker, idx, &nr);
	uint64_t hash = id_table_hash(0, &comm, sizeof(comm));

	hash = id_table_hash(hash, sequence, nr * sizeof(*sequence));
	return group(groups, hash, TABLE_ROW_STACK, group_reads_as, idx);
}

/* Rows of the groups, sorted, at most @max. */
static int push_groups(struct maker *maker, const struct groups *groups, size_t max)
{
	size_t first = maker->table->nr;

	for (size_t i = 0; i < groups->nr; i++) {
		if (push(maker->table, &groups->rows[i]))
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

	for (uint32_t i = 0; !err && i < maker->model->nr_stacks; i++) {
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
	return text_matches(maker, maker->model->stacks[idx].comm) ||
	       regexec(maker->query->filter, pid, 0, NULL, 0) == 0;
}

static int make_processes(struct maker *maker)
{
	CLEANUP(groups_fini) struct groups groups = { .maker = maker };
	int err = 0;

	for (uint32_t i = 0; !err && i < maker->model->nr_stacks; i++) {
		const struct recording_stack *stack = &maker->model->recording->stacks[i];

		if (is_wanted(maker, i) && process_matches(maker, i))
			err = group(&groups, id_table_hash(stack->pid, &stack->task, 8),
				    TABLE_ROW_PROCESS, group_is_process, i);
	}
	return err ? err : push_groups(maker, &groups, SIZE_MAX / 2);
}

/* Who calls a function, and what it calls. */
struct neighbours {
	struct tallied *callers, *callees; /* owned [nr_functions] */
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
	const uint32_t *sequence = sequence_of(maker, idx, &nr);
	uint64_t count = maker->counts[idx];
	bool found = false;

	for (uint32_t i = 0; i < nr; i++) {
		if (sequence[i] != function)
			continue;
		found = true;
		tally(&neighbours->itself, count, idx, i == 0);
		if (i + 1 < nr)
			tally(&neighbours->callers[sequence[i + 1]], count, idx, false);
		if (i > 0)
			tally(&neighbours->callees[sequence[i - 1]], count, idx, i == 1);
	}
	return found;
}

static int push_neighbours(struct maker *maker, const struct neighbours *neighbours,
			   const struct groups *groups)
{
	const struct table_row itself = { .kind = TABLE_ROW_FUNCTION,
					  .index = maker->query->function,
					  .self = neighbours->itself.self,
					  .total = neighbours->itself.total };
	struct table *table = maker->table;

	return push_heading(table, "called by") ||
			       push_functions(maker, neighbours->callers, false) ||
			       push_heading(table, "function") || push(table, &itself) ||
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
		.callers = calloc(model->nr_functions + 1, sizeof(*neighbours.callers)),
		.callees = calloc(model->nr_functions + 1, sizeof(*neighbours.callees)),
	};
	int err = neighbours.callers && neighbours.callees ? 0 : -ENOMEM;

	if (maker->query->function >= model->nr_functions)
		return err;
	for (uint32_t i = 0; !err && i < model->nr_stacks; i++) {
		if (is_wanted(maker, i) && tally_neighbours(maker, &neighbours, i))
			err = group_stack(&groups, i);
	}
	return err ? err : push_neighbours(maker, &neighbours, &groups);
}

/* The frames of one stack, from the leaf on. */
static int make_frames(struct maker *maker)
{
	uint32_t nr, idx = maker->query->stack;
	const uint32_t *sequence;
	uint64_t count = 0;
	int err = 0;

	if (idx >= maker->model->nr_stacks)
		return 0;
	sequence = sequence_of(maker, idx, &nr);
	for (uint32_t i = 0; i < maker->model->nr_stacks; i++) {
		if (is_wanted(maker, i) && stacks_read_the_same(maker, i, idx))
			count += maker->counts[i];
	}
	for (uint32_t i = 0; !err && i < nr; i++)
		err = push(maker->table, &(struct table_row){ .kind = TABLE_ROW_FUNCTION,
							      .index = sequence[i],
							      .self = i ? 0 : count,
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
		.matches = calloc(model->nr_functions + 1, sizeof(*maker.matches)),
	};

	*ret = (struct table){ 0 };
	for (size_t i = 0; i < model->nr_stacks; i++) {
		ret->samples += counts[i];
		ret->shown += is_wanted(&maker, i) ? counts[i] : 0;
	}
	return maker.matches ? make[query->view](&maker) : -ENOMEM;
}
