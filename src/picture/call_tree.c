/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/path_sort.h"
#include "picture/walk_pair.h"

void call_tree_fini(struct call_tree *tree)
{
	vector_fini(&tree->nodes);
	vector_fini(&tree->ends);
	vector_fini(&tree->marks);
	free(tree->places);
}

/* The nodes from the root to the leaf under way. */
struct building {
	struct call_tree *tree;
	const struct flame_paths *paths;
	const struct call_functions *functions;
	const struct call_tree_options *options;
	uint32_t open[FLAME_STEPS_MAX + 1]; /* [nr_open]: by depth */
	uint32_t nr_open;
	uint8_t marks[2][UINT16_MAX]; /* of the frames of both walks */
};

static void open_node(struct building *building, uint32_t function)
{
	struct call_tree *tree = building->tree;

	must_push(&tree->nodes, { .function = function, .depth = building->nr_open });
	building->open[building->nr_open++] = (uint32_t)tree->nodes.nr - 1;
}

/*
 * The deepest node is complete. One of few samples goes, as those below it have gone before: what
 * ends there is left to its parent.
 */
static void close_node(struct building *building)
{
	struct call_tree *tree = building->tree;
	uint32_t idx = building->open[--building->nr_open];

	if (!idx || tree->nodes.list[idx].total >= tree->min_total)
		return;
	for (size_t i = tree->ends.nr; i > 0 && tree->ends.list[i - 1].node >= idx; i--) {
		tree->ends.list[i - 1].node = building->open[building->nr_open - 1];
		tree->ends.list[i - 1].kind = true;
	}
	while (tree->marks.nr && tree->marks.list[tree->marks.nr - 1].node >= idx)
		tree->marks.nr--;
	tree->nodes.nr = idx;
	tree->left_nodes++;
}

static uint32_t group_of(const struct building *building, const struct flame_path *path)
{
	const uint32_t *groups = building->options->groups;

	return groups ? groups[path->stack] : path->side;
}

/* Marks of the nodes of @path, which has a step for each frame behind those of its labels. */
static void add_marks(struct building *building, const struct flame_path *path)
{
	const struct recording *recording = building->options->marked;
	const struct recording_stack *stack = &recording->stacks[path->stack];
	bool other = path->side == 1;
	size_t nr_user = other ? stack->nr_fp : stack->nr_user;
	const uint8_t *marks = building->marks[other];

	if (path->nr < nr_user + stack->nr_kernel || path->nr == FLAME_STEPS_MAX)
		return; /* cut: which step is which frame is not known */
	walk_pair_mark(recording, stack, building->marks[0], building->marks[1]);

	size_t nr_labels = path->nr - nr_user - stack->nr_kernel;

	/* from the root on: marks of a node that goes are the last ones there are */
	for (size_t i = nr_user; i-- > 0;)
		if (marks[i] != WALK_MARK_NONE)
			must_push(&building->tree->marks,
				  { .count = path->count,
				    .node = building->open[nr_labels + nr_user - i],
				    .group = group_of(building, path),
				    .kind = marks[i] });
}

static void add_path(struct building *building, const struct sort_path *sorted)
{
	struct call_tree *tree = building->tree;
	const struct flame_path *path = &building->paths->list[sorted->idx];

	while (building->nr_open > sorted->shared + 1)
		close_node(building);
	for (uint32_t i = sorted->shared; i < sorted->nr; i++)
		open_node(building, building->functions->of_cells[sorted->steps[i]]);
	tree->nodes.list[0].total += path->count;
	for (uint32_t i = 0; i < sorted->nr; i++) {
		const struct shown_function *cell = &building->paths->cells.list[sorted->steps[i]];
		struct call_node *node = &tree->nodes.list[building->open[i + 1]];

		node->total += path->count;
		if (path->elided > node->elided)
			node->elided = path->elided;
		if (cell->origin < FPL_ORIGIN_COUNT)
			node->found |= (uint8_t)(1u << cell->origin);
		if (cell->kind == FUNCTION_INLINED)
			node->found |= CALL_FOUND_INLINED;
	}
	must_push(&tree->ends, { .count = path->count,
				 .node = building->open[building->nr_open - 1],
				 .group = group_of(building, path),
				 .stack = path->stack });
	if (building->options->marked)
		add_marks(building, path);
}

/* One pass over @sorted [nr]. False: there are too many nodes. */
static bool build(struct building *building, const struct sort_path *sorted, size_t nr)
{
	struct call_tree *tree = building->tree;
	uint32_t nodes_max = building->options->nodes_max;

	tree->nodes.nr = tree->ends.nr = tree->marks.nr = 0;
	tree->left_nodes = 0;
	building->nr_open = 0;
	open_node(building, 0);
	for (size_t i = 0; i < nr; i++) {
		add_path(building, &sorted[i]);
		if (tree->nodes.nr - building->nr_open >= nodes_max)
			return false;
	}
	while (building->nr_open)
		close_node(building);
	return tree->nodes.nr <= nodes_max;
}

static int compare_counts(const void *left, const void *right)
{
	const struct call_count *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind - b->kind;
	return (a->group > b->group) - (a->group < b->group);
}

/* Before ends are merged. */
static void find_places(struct call_tree *tree, size_t nr_stacks)
{
	tree->places = must_calloc(nr_stacks, sizeof(*tree->places));
	for (size_t i = 0; i < tree->ends.nr; i++)
		tree->places[tree->ends.list[i].stack] = (struct call_place){
			.node = tree->ends.list[i].node,
			.left = tree->ends.list[i].kind,
		};
}

/* Sort @counts, and make equal ones one. */
static void merge_counts(struct call_counts *counts)
{
	struct call_count *list = counts->list;
	size_t nr = 0;

	if (counts->nr)
		qsort(list, counts->nr, sizeof(*list), compare_counts);
	for (size_t i = 0; i < counts->nr; i++) {
		if (nr && !compare_counts(&list[nr - 1], &list[i]))
			list[nr - 1].count += list[i].count;
		else
			list[nr++] = list[i];
	}
	counts->nr = nr;
}

/* Counts of nodes by their samples, which tell what has to go. */
enum { COUNTED_TOTALS = 1 << 16 };

/* The nodes from the root to the leaf under way, by depth: samples that end in and below them. */
struct counting {
	uint64_t totals[FLAME_STEPS_MAX + 1], nr_nodes[COUNTED_TOTALS];
};

static void count_node(struct counting *counting, uint32_t depth)
{
	uint64_t total = counting->totals[depth];

	counting->nr_nodes[total < COUNTED_TOTALS ? total : COUNTED_TOTALS - 1]++;
	if (depth)
		counting->totals[depth - 1] += total;
	counting->totals[depth] = 0;
}

/* The fewest samples that no more than @nodes_max nodes have, or as many as are counted. */
static uint64_t choose_min_total(const struct flame_paths *paths, const struct sort_path *sorted,
				 size_t nr, uint32_t nodes_max)
{
	AUTO_FREE struct counting *counting = must_calloc(1, sizeof(*counting));
	uint32_t depth = 0;
	uint64_t min_total = COUNTED_TOTALS, nodes = 0;

	for (size_t i = 0; i < nr; i++) {
		for (; depth > sorted[i].shared; depth--)
			count_node(counting, depth);
		depth = sorted[i].nr;
		counting->totals[depth] += paths->list[sorted[i].idx].count;
	}
	for (; depth > 0; depth--)
		count_node(counting, depth);
	count_node(counting, 0);
	while (min_total > 1 && nodes + counting->nr_nodes[min_total - 1] <= nodes_max)
		nodes += counting->nr_nodes[--min_total];
	return min_total;
}

void call_tree_make(const struct flame_paths *paths, const struct call_functions *functions,
		    const struct call_tree_options *options, struct call_tree *ret)
{
	size_t nr;
	AUTO_FREE struct building *building = must_calloc(1, sizeof(*building));
	AUTO_FREE struct sort_path *sorted =
		flame_paths_sort(paths, options->sides, functions->of_cells, &nr);

	*ret = (struct call_tree){
		.min_total = choose_min_total(paths, sorted, nr, options->nodes_max),
	};
	if (ret->min_total < options->min_total)
		ret->min_total = options->min_total;
	*building = (struct building){
		.tree = ret,
		.paths = paths,
		.functions = functions,
		.options = options,
	};
	/* at last there is one way down, of all there is: no longer than a path may be */
	while (!build(building, sorted, nr) && ret->min_total <= UINT64_MAX / 2)
		ret->min_total *= 2;
	if (options->nr_stacks)
		find_places(ret, options->nr_stacks);
	merge_counts(&ret->ends);
	merge_counts(&ret->marks);
}
