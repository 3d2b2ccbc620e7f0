/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "picture/path_sort.h"
#include "picture/walk_pair.h"

void call_tree_fini(struct call_tree *tree)
{
	free(tree->nodes);
	free(tree->ends);
	free(tree->marks);
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

static int open_node(struct building *building, uint32_t function)
{
	struct call_tree *tree = building->tree;

	if (array_reserve(&tree->nodes, sizeof(*tree->nodes), &tree->room, tree->nr + 1))
		return -ENOMEM;
	tree->nodes[tree->nr] =
		(struct call_node){ .function = function, .depth = building->nr_open };
	building->open[building->nr_open++] = (uint32_t)tree->nr++;
	return 0;
}

/*
 * The deepest node is complete. One of few samples goes, as those below it have gone before: what
 * ends there is left to its parent.
 */
static void close_node(struct building *building)
{
	struct call_tree *tree = building->tree;
	uint32_t idx = building->open[--building->nr_open];

	if (!idx || tree->nodes[idx].total >= tree->min_total)
		return;
	for (size_t i = tree->nr_ends; i > 0 && tree->ends[i - 1].node >= idx; i--) {
		tree->ends[i - 1].node = building->open[building->nr_open - 1];
		tree->ends[i - 1].left = true;
	}
	while (tree->nr_marks && tree->marks[tree->nr_marks - 1].node >= idx)
		tree->nr_marks--;
	tree->nr = idx;
	tree->left_nodes++;
}

static uint32_t group_of(const struct building *building, const struct flame_path *path)
{
	const uint32_t *groups = building->options->groups;

	return groups ? groups[path->stack] : path->side;
}

static int add_end(struct building *building, const struct flame_path *path)
{
	struct call_tree *tree = building->tree;

	if (array_reserve(&tree->ends, sizeof(*tree->ends), &tree->room_ends, tree->nr_ends + 1))
		return -ENOMEM;
	tree->ends[tree->nr_ends++] = (struct call_end){
		.count = path->count,
		.node = building->open[building->nr_open - 1],
		.group = group_of(building, path),
		.stack = path->stack,
	};
	return 0;
}

static int add_mark(struct building *building, const struct flame_path *path, uint32_t node,
		    uint8_t mark)
{
	struct call_tree *tree = building->tree;

	if (array_reserve(&tree->marks, sizeof(*tree->marks), &tree->room_marks,
			  tree->nr_marks + 1))
		return -ENOMEM;
	tree->marks[tree->nr_marks++] = (struct call_mark){
		.count = path->count,
		.node = node,
		.group = group_of(building, path),
		.mark = mark,
	};
	return 0;
}

/* Marks of the nodes of @path, which has a step for each frame behind those of its labels. */
static int add_marks(struct building *building, const struct flame_path *path)
{
	const struct recording *recording = building->options->marked;
	const struct recording_stack *stack = &recording->stacks[path->stack];
	bool other = path->side == 1;
	size_t nr_user = other ? stack->nr_fp : stack->nr_user;
	const uint8_t *marks = building->marks[other];
	int err = 0;

	if (path->nr < nr_user + stack->nr_kernel || path->nr == FLAME_STEPS_MAX)
		return 0; /* cut: which step is which frame is not known */
	walk_pair_mark(recording, stack, building->marks[0], building->marks[1]);

	size_t nr_labels = path->nr - nr_user - stack->nr_kernel;

	/* from the root on: marks of a node that goes are the last ones there are */
	for (size_t i = nr_user; !err && i-- > 0;)
		if (marks[i] != WALK_MARK_NONE)
			err = add_mark(building, path, building->open[nr_labels + nr_user - i],
				       marks[i]);
	return err;
}

static int add_path(struct building *building, const struct sort_path *sorted)
{
	struct call_tree *tree = building->tree;
	const struct flame_path *path = &building->paths->list[sorted->idx];

	while (building->nr_open > sorted->shared + 1)
		close_node(building);
	for (uint32_t i = sorted->shared; i < sorted->nr; i++)
		if (open_node(building, building->functions->of_cells[sorted->steps[i]]))
			return -ENOMEM;
	tree->nodes[0].total += path->count;
	for (uint32_t i = 0; i < sorted->nr; i++) {
		const struct flame_cell *cell = &building->paths->cells[sorted->steps[i]];
		struct call_node *node = &tree->nodes[building->open[i + 1]];

		node->total += path->count;
		if (path->elided > node->elided)
			node->elided = path->elided;
		if (cell->origin < FPL_ORIGIN_COUNT)
			node->found |= (uint8_t)(1u << cell->origin);
		if (cell->kind == FLAME_INLINED)
			node->found |= CALL_FOUND_INLINED;
	}
	if (add_end(building, path))
		return -ENOMEM;
	return building->options->marked ? add_marks(building, path) : 0;
}

/* One pass over @sorted [nr]. Returns 1 where there are too many nodes. */
static int build(struct building *building, const struct sort_path *sorted, size_t nr)
{
	struct call_tree *tree = building->tree;
	uint32_t nodes_max = building->options->nodes_max;

	tree->nr = tree->nr_ends = tree->nr_marks = 0;
	tree->left_nodes = 0;
	building->nr_open = 0;
	if (open_node(building, 0))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		if (add_path(building, &sorted[i]))
			return -ENOMEM;
		if (tree->nr - building->nr_open >= nodes_max)
			return 1;
	}
	while (building->nr_open)
		close_node(building);
	return tree->nr > nodes_max;
}

static int compare_ends(const void *left, const void *right)
{
	const struct call_end *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->left != b->left)
		return a->left - b->left;
	return (a->group > b->group) - (a->group < b->group);
}

static int compare_marks(const void *left, const void *right)
{
	const struct call_mark *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->mark != b->mark)
		return a->mark - b->mark;
	return (a->group > b->group) - (a->group < b->group);
}

/* Before ends are merged. */
static int find_places(struct call_tree *tree, size_t nr_stacks)
{
	tree->places = calloc(nr_stacks, sizeof(*tree->places));
	if (!tree->places)
		return -ENOMEM;
	for (size_t i = 0; i < tree->nr_ends; i++)
		tree->places[tree->ends[i].stack] = (struct call_place){
			.node = tree->ends[i].node,
			.left = tree->ends[i].left,
		};
	return 0;
}

/* In their order, and one of each. */
static void merge_ends(struct call_tree *tree)
{
	size_t nr = 0;

	if (tree->nr_ends)
		qsort(tree->ends, tree->nr_ends, sizeof(*tree->ends), compare_ends);
	for (size_t i = 0; i < tree->nr_ends; i++) {
		if (nr && !compare_ends(&tree->ends[nr - 1], &tree->ends[i]))
			tree->ends[nr - 1].count += tree->ends[i].count;
		else
			tree->ends[nr++] = tree->ends[i];
	}
	tree->nr_ends = nr;
	nr = 0;
	if (tree->nr_marks)
		qsort(tree->marks, tree->nr_marks, sizeof(*tree->marks), compare_marks);
	for (size_t i = 0; i < tree->nr_marks; i++) {
		if (nr && !compare_marks(&tree->marks[nr - 1], &tree->marks[i]))
			tree->marks[nr - 1].count += tree->marks[i].count;
		else
			tree->marks[nr++] = tree->marks[i];
	}
	tree->nr_marks = nr;
}

/* The paths of @sides. */
static struct sort_path *make_sorted(const struct flame_paths *paths,
				     const struct call_functions *functions, unsigned sides,
				     size_t *ret_nr)
{
	AUTO_FREE struct sort_path *sorted = calloc(paths->nr + 1, sizeof(*sorted));
	size_t nr = 0;

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < paths->nr; i++)
		if (sides & 1u << paths->list[i].side)
			sorted[nr++] = (struct sort_path){
				.steps = paths->steps + paths->list[i].first,
				.nr = paths->list[i].nr,
				.idx = (uint32_t)i,
			};
	if (path_sort(sorted, nr, functions->of_cells))
		return NULL;
	*ret_nr = nr;
	return TAKE_PTR(sorted);
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
static int choose_min_total(const struct flame_paths *paths, const struct sort_path *sorted,
			    size_t nr, uint32_t nodes_max, uint64_t *ret)
{
	AUTO_FREE struct counting *counting = calloc(1, sizeof(*counting));
	uint32_t depth = 0;
	uint64_t nodes = 0;

	if (!counting)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		for (; depth > sorted[i].shared; depth--)
			count_node(counting, depth);
		depth = sorted[i].nr;
		counting->totals[depth] += paths->list[sorted[i].idx].count;
	}
	for (; depth > 0; depth--)
		count_node(counting, depth);
	count_node(counting, 0);
	*ret = COUNTED_TOTALS;
	while (*ret > 1 && nodes + counting->nr_nodes[*ret - 1] <= nodes_max)
		nodes += counting->nr_nodes[--*ret];
	return 0;
}

int call_tree_make(const struct flame_paths *paths, const struct call_functions *functions,
		   const struct call_tree_options *options, struct call_tree *ret)
{
	size_t nr = 0;
	AUTO_FREE struct building *building = calloc(1, sizeof(*building));
	AUTO_FREE struct sort_path *sorted = make_sorted(paths, functions, options->sides, &nr);
	int err = building && sorted ? 1 : -ENOMEM;

	*ret = (struct call_tree){ .min_total = 1 };
	if (err > 0 && choose_min_total(paths, sorted, nr, options->nodes_max, &ret->min_total))
		return -ENOMEM;
	if (ret->min_total < options->min_total)
		ret->min_total = options->min_total;
	if (err > 0)
		*building = (struct building){
			.tree = ret,
			.paths = paths,
			.functions = functions,
			.options = options,
		};
	while (err > 0) {
		err = build(building, sorted, nr);
		if (err > 0 && ret->min_total > UINT64_MAX / 2)
			err = 0; /* one way down, of all there is: no longer than a path may be */
		if (err > 0)
			ret->min_total *= 2;
	}
	if (!err && options->nr_stacks)
		err = find_places(ret, options->nr_stacks);
	if (!err)
		merge_ends(ret);
	return err;
}
