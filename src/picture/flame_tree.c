/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/path_sort.h"

void flame_tree_fini(struct flame_tree *tree)
{
	vector_fini(&tree->nodes);
}

/* The nodes from the root to the leaf under way. */
struct building {
	struct flame_tree *tree;
	uint32_t open[FLAME_STEPS_MAX + 1]; /* [nr_open]: by depth */
	uint32_t nr_open;
};

static void open_node(struct building *building, const struct shown_function *cell)
{
	struct flame_tree *tree = building->tree;
	uint32_t depth = building->nr_open;

	must_push(&tree->nodes, { .text = cell->text,
				  .object = cell->place,
				  .kind = cell->kind,
				  .of_waker = cell->of_waker,
				  .parent = depth ? building->open[depth - 1] : 0,
				  .depth = depth });
	building->open[building->nr_open++] = (uint32_t)tree->nodes.nr - 1;
}

/* The deepest node is complete. One of few samples goes; those below it have gone before. */
static void close_node(struct building *building)
{
	struct flame_tree *tree = building->tree;
	uint32_t idx = building->open[--building->nr_open];
	struct flame_node *node = &tree->nodes.list[idx];

	node->end = (uint32_t)tree->nodes.nr;
	if (idx && node->total[0] < tree->min_total && node->total[1] < tree->min_total) {
		tree->pruned++;
		for (unsigned side = 0; side < FLAME_SIDES; side++)
			tree->pruned_samples[side] += node->self[side];
		tree->nodes.nr = idx;
	} else if (node->depth > tree->depth) {
		tree->depth = node->depth;
	}
}

static void count_step(struct flame_node *node, const struct shown_function *cell,
		       const struct flame_path *path)
{
	node->total[path->side] += path->count;
	if (path->elided > node->elided)
		node->elided = path->elided;
	if (cell->origin < FPL_ORIGIN_COUNT)
		node->found[cell->origin] += path->count;
	if (cell->kind != node->kind)
		node->kind = FUNCTION_USER; /* inlined in some samples */
	if (cell->place != node->object)
		node->objects_differ = true;
}

static void add_path(struct building *building, const struct sort_path *sorted)
{
	struct flame_tree *tree = building->tree;
	const struct flame_paths *paths = tree->paths;
	const struct flame_path *path = &paths->list[sorted->idx];

	while (building->nr_open > sorted->shared + 1)
		close_node(building);
	for (uint32_t i = sorted->shared; i < sorted->nr; i++)
		open_node(building, &paths->cells.list[sorted->steps[i]]);
	tree->nodes.list[0].total[path->side] += path->count;
	for (uint32_t i = 0; i < sorted->nr; i++)
		count_step(&tree->nodes.list[building->open[i + 1]],
			   &paths->cells.list[sorted->steps[i]], path);
	tree->nodes.list[building->open[sorted->nr]].self[path->side] += path->count;
}

/* One pass over the paths. False: more than @nodes_max nodes are left. */
static bool build(struct flame_tree *tree, const struct sort_path *sorted, size_t nr,
		  uint32_t nodes_max)
{
	static const struct shown_function root = { .kind = FUNCTION_LABEL };
	struct building building = { .tree = tree };

	tree->nodes.nr = tree->depth = 0;
	tree->pruned = 0;
	memset(tree->pruned_samples, 0, sizeof(tree->pruned_samples));
	open_node(&building, &root);
	for (size_t i = 0; i < nr; i++) {
		add_path(&building, &sorted[i]);
		if (tree->nodes.nr - building.nr_open >= nodes_max)
			return false;
	}
	while (building.nr_open)
		close_node(&building);
	return tree->nodes.nr <= nodes_max;
}

void flame_tree_make(const struct flame_paths *paths, const struct flame_tree_options *options,
		     struct flame_tree *ret)
{
	AUTO_FREE uint32_t *ranks = flame_paths_rank(paths, false);
	size_t nr;
	AUTO_FREE struct sort_path *sorted =
		flame_paths_sort(paths, (1u << FLAME_SIDES) - 1, ranks, &nr);
	uint32_t nodes_max = options->nodes_max ? options->nodes_max : FLAME_NODES_MAX;

	*ret = (struct flame_tree){
		.paths = paths,
		.min_total = options->min_total ? options->min_total : 1,
	};
	/* at last there is one way down, of all there is: no longer than a path may be */
	while (!build(ret, sorted, nr, nodes_max) && ret->min_total < UINT64_MAX)
		ret->min_total = ret->min_total > UINT64_MAX / 2 ? UINT64_MAX : 2 * ret->min_total;
}

bool flame_tree_has_wakers(const struct flame_tree *tree)
{
	for (size_t i = 0; i < tree->nodes.nr; i++)
		if (tree->nodes.list[i].of_waker)
			return true;
	return false;
}

uint64_t *flame_tree_starts(const struct flame_tree *tree, unsigned side)
{
	AUTO_FREE uint64_t *next =
		must_calloc(tree->nodes.nr, sizeof(*next)); /* child of each node */
	uint64_t *starts = must_calloc(tree->nodes.nr, sizeof(*starts));

	for (size_t i = 1; i < tree->nodes.nr; i++) {
		const struct flame_node *node = &tree->nodes.list[i];

		starts[i] = next[i] = next[node->parent];
		next[node->parent] += node->total[side];
	}
	return starts;
}
