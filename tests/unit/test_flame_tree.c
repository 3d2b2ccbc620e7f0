/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of frames: held against what adding up all paths one by one gives. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "picture/flame_tree.h"
#include "picture/path_sort.h"
#include "../support/recording_text.h"

/* The same numbers in every run. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int compare_paths(const struct sort_path *a, const struct sort_path *b,
			 const uint32_t *ranks)
{
	for (uint32_t i = 0;; i++) {
		if (i == a->nr || i == b->nr)
			return (a->nr > b->nr) - (a->nr < b->nr);
		if (ranks[a->steps[i]] != ranks[b->steps[i]])
			return ranks[a->steps[i]] < ranks[b->steps[i]] ? -1 : 1;
	}
}

static uint32_t shared_of(const struct sort_path *a, const struct sort_path *b,
			  const uint32_t *ranks)
{
	uint32_t i = 0;

	while (i < a->nr && i < b->nr && ranks[a->steps[i]] == ranks[b->steps[i]])
		i++;
	return i;
}

/* Two of eight steps have the rank of another. */
static const uint32_t ranks[8] = { 5, 1, 3, 3, 0, 2, 1, 7 };

static void paths_are_sorted_and_know_their_common_prefix(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (size_t nr = 0; nr < 200; nr++) {
		uint32_t steps[200][6];
		struct sort_path paths[200];

		for (size_t i = 0; i < nr; i++) {
			paths[i] = (struct sort_path){
				.steps = steps[i],
				.nr = next_random(&random) % 7,
				.shared = 99,
				.idx = (uint32_t)i,
			};
			for (uint32_t j = 0; j < paths[i].nr; j++)
				steps[i][j] = next_random(&random) % 8;
		}
		path_sort(paths, nr, ranks);
		for (size_t i = 1; i < nr; i++) {
			int order = compare_paths(&paths[i - 1], &paths[i], ranks);

			assert_true(order < 0 || (!order && paths[i - 1].idx < paths[i].idx));
			assert_int_equal(paths[i].shared,
					 shared_of(&paths[i - 1], &paths[i], ranks));
		}
		assert_true(!nr || !paths[0].shared);
	}
}

/* A recording of folded lines. */
static void read_folded(const char *text, struct recording *ret)
{
	const struct read_options options = { .memory = READ_MEMORY_BYTES };
	struct fpl_err err = { 0 };

	if (recording_of(text, strlen(text), &options, ret, &err))
		fail_msg("%s", err.msg);
}

/* Each node in a line: two spaces per depth, its text, total and self, of the sides there are. */
static char *tree_text(const struct flame_tree *tree)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; i < tree->nodes.nr; i++) {
		const struct flame_node *node = &tree->nodes.list[i];

		fprintf(to, "%*s%s %llu/%llu", (int)(2 * node->depth), "",
			i ? flame_text(tree->paths, node->text) : "all",
			(unsigned long long)node->total[0], (unsigned long long)node->self[0]);
		if (tree->paths->samples[1])
			fprintf(to, " %llu/%llu", (unsigned long long)node->total[1],
				(unsigned long long)node->self[1]);
		if (node->kind == FUNCTION_KERNEL)
			fputs(" k", to);
		if (node->of_waker)
			fputs(" w", to);
		putc('\n', to);
	}
	assert_int_equal(fclose(to), 0);
	return text;
}

static void check_links(const struct flame_tree *tree)
{
	for (uint32_t i = 0; i < tree->nodes.nr; i++) {
		const struct flame_node *node = &tree->nodes.list[i];
		uint64_t below = node->self[0];

		assert_true(node->end > i && node->end <= tree->nodes.nr);
		assert_true(node->depth <= tree->depth);
		for (uint32_t child = i + 1; child < node->end;
		     child = tree->nodes.list[child].end) {
			assert_int_equal(tree->nodes.list[child].parent, i);
			assert_int_equal(tree->nodes.list[child].depth, node->depth + 1);
			below += tree->nodes.list[child].total[0];
		}
		assert_true(below <= node->total[0]);
		if (!tree->pruned)
			assert_int_equal(below, node->total[0]);
	}
}

struct expectation {
	const char *what, *folded, *other; /* other NULL: one side */
	struct flame_paths_options paths;
	struct flame_tree_options tree;
	const char *text;
};

static void check(const struct expectation *expected)
{
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	CLEANUP(flame_tree_fini) struct flame_tree tree = { 0 };
	const char *texts[FLAME_SIDES] = { expected->folded, expected->other };

	flame_paths_init(&paths);
	for (unsigned side = 0; side < FLAME_SIDES && texts[side]; side++) {
		CLEANUP(recording_fini) struct recording recording;

		read_folded(texts[side], &recording);
		assert_int_equal(flame_paths_add(&paths, &recording, &expected->paths, side, NULL),
				 0);
	}
	flame_tree_make(&paths, &expected->tree, &tree);
	check_links(&tree);

	AUTO_FREE char *text = tree_text(&tree);

	if (strcmp(text, expected->text) != 0)
		fail_msg("%s: %s", expected->what, text);
}

static void equal_beginnings_are_one_and_siblings_are_in_order(void **state)
{
	static const struct expectation cases[] = {
		{ .what = "merge",
		  .folded = "c;main;b 2\nc;main;a;x 3\nc;main 1\nd;main 4\nc;main;a 5\n",
		  .text = "all 15/0\n  c 11/0\n    main 11/1\n      a 8/5\n        x 3/3\n"
			  "      b 2/2\n  d 4/0\n    main 4/4\n" },
		{ .what = "order is of bytes",
		  .folded = "c;\xc3\xa9 1\nc;z 1\nc;Z 1\nc;a b 1\nc;a 1\n",
		  .text = "all 5/0\n  c 5/0\n    Z 1/1\n    a 1/1\n    a b 1/1\n    z 1/1\n"
			  "    \xc3\xa9 1/1\n" },
		{ .what = "kernel code stands for itself",
		  .folded = "c;main;read 1\nc;main;read_[k] 2\n",
		  .text = "all 3/0\n  c 3/0\n    main 3/0\n      read 1/1\n      read 2/2 k\n" },
		{ .what = "reverse",
		  .folded = "c;main;a 1\nc;main;b;a 2\n",
		  .paths = { .reverse = true },
		  .text = "all 3/0\n  a 3/0\n    b 2/0\n      main 2/0\n        c 2/2\n    main "
			  "1/0\n"
			  "      c 1/1\n" },
		{ .what = "who ended a wait",
		  .folded = "c;main;a;--;b;a 1\nc;main;a 2\n",
		  .paths = { .wakers = true },
		  .text = "all 3/0\n  c 3/0\n    main 3/0\n      a 3/2\n        -- 1/0 w\n"
			  "          b 1/0 w\n            a 1/1 w\n" },
		{ .what = "who ended a wait, reverse",
		  .folded = "c;main;a;--;b;a 1\nc;b;a 2\n",
		  .paths = { .wakers = true, .reverse = true },
		  .text = "all 3/0\n  a 2/0\n    b 2/0\n      c 2/2\n  a 1/0 w\n    b 1/0 w\n"
			  "      -- 1/0 w\n        a 1/0\n          main 1/0\n            c 1/1\n" },
		{ .what = "who ended a wait, not told apart",
		  .folded = "c;main;a;--;b;a 1\nc;b;a 2\n",
		  .paths = { .reverse = true },
		  .text = "all 3/0\n  a 3/0\n    b 3/0\n      -- 1/0\n        a 1/0\n"
			  "          main 1/0\n            c 1/1\n      c 2/2\n" },
		{ .what = "no labels",
		  .folded = "c;a 1\nd;a 2\n",
		  .paths = { .no_labels = true },
		  .text = "all 3/0\n  a 3/3\n" },
		{ .what = "two sides",
		  .folded = "c;a 1\nc;b 2\n",
		  .other = "c;a 5\nc;a;d 1\n",
		  .text = "all 3/0 6/0\n  c 3/0 6/0\n    a 1/1 6/5\n      d 0/0 1/1\n"
			  "    b 2/2 0/0\n" },
		{ .what = "few samples",
		  .folded = "c;a;x;y 1\nc;a;z 1\nc;b 7\nc;d 1\n",
		  .tree = { .min_total = 2 },
		  .text = "all 10/0\n  c 10/0\n    a 2/0\n    b 7/7\n" },
		{ .what = "many nodes",
		  .folded = "c;a;x;y 1\nc;a;z 1\nc;b 7\nc;d 1\n",
		  .tree = { .nodes_max = 3 },
		  .text = "all 10/0\n  c 10/0\n    b 7/7\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i]);
}

static void pruned_frames_are_counted(void **state)
{
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	CLEANUP(flame_tree_fini) struct flame_tree tree = { 0 };
	CLEANUP(recording_fini) struct recording recording;

	(void)state;
	read_folded("c;a;x;y 1\nc;a;x 2\nc;a;z 1\nc;b 9\nc;d;e;f 1\n", &recording);
	flame_paths_init(&paths);
	assert_int_equal(
		flame_paths_add(&paths, &recording, &(struct flame_paths_options){ 0 }, 0, NULL),
		0);
	flame_tree_make(&paths, &(struct flame_tree_options){ .min_total = 4 }, &tree);
	check_links(&tree);
	assert_int_equal(tree.nodes.nr, 4); /* all, c, a, b */
	assert_int_equal(tree.pruned, 6);
	assert_int_equal(tree.pruned_samples[0], 5);
	assert_int_equal(tree.depth, 2);
	assert_int_equal(paths.samples[0], 14);
}

/* @nr lines of at most @depth frames of few names. */
static char *random_folded(size_t nr, uint32_t depth, uint32_t *random)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; i < nr; i++) {
		uint32_t frames = next_random(random) % depth;

		fputs("c", to);
		for (uint32_t j = 0; j < frames; j++)
			fprintf(to, ";f%u", next_random(random) % 4);
		fprintf(to, " %u\n", 1 + next_random(random) % 5);
	}
	assert_int_equal(fclose(to), 0);
	return text;
}

/* A node is there where a path leads, and holds the counts of all paths through it. */
static void check_node(const struct flame_tree *tree, uint32_t idx)
{
	const struct flame_paths *paths = tree->paths;
	const struct flame_node *node = &tree->nodes.list[idx];
	uint64_t total = 0, self = 0;

	for (size_t i = 0; i < paths->nr; i++) {
		const struct flame_path *path = &paths->list[i];
		uint32_t at = idx, depth = node->depth;
		bool through = path->nr >= depth;

		for (; through && depth; at = tree->nodes.list[at].parent, depth--)
			through = paths->cells.list[paths->steps.list[path->first + depth - 1]]
					  .text == tree->nodes.list[at].text;
		total += through ? path->count : 0;
		self += through && path->nr == node->depth ? path->count : 0;
	}
	assert_int_equal(node->total[0], total);
	assert_int_equal(node->self[0], self);
}

static void a_tree_adds_up_to_its_paths(void **state)
{
	uint32_t random = 7;

	(void)state;
	for (uint32_t round = 0; round < 40; round++) {
		CLEANUP(flame_paths_fini) struct flame_paths paths;
		CLEANUP(flame_tree_fini) struct flame_tree tree = { 0 };
		CLEANUP(recording_fini) struct recording recording;
		const struct flame_tree_options options = { .min_total = round % 4 };
		AUTO_FREE char *text = random_folded(1 + 2 * round, 2 + round % 7, &random);

		read_folded(text, &recording);
		flame_paths_init(&paths);
		assert_int_equal(flame_paths_add(&paths, &recording,
						 &(struct flame_paths_options){ 0 }, 0, NULL),
				 0);
		assert_int_equal(paths.samples[0], recording_shown(&recording));
		flame_tree_make(&paths, &options, &tree);
		check_links(&tree);
		for (uint32_t i = 0; i < tree.nodes.nr; i++) {
			check_node(&tree, i);
			assert_true(!i || tree.nodes.list[i].total[0] >= options.min_total);
		}
	}
}

static uint32_t add_frame(struct recording *recording, const char *const *names, uint8_t origin,
			  uint64_t address)
{
	struct recording_frame frame = { .address = address,
					 .start = RECORDING_NO_ADDRESS,
					 .origin = origin };
	struct recording_object object = { 0 };
	struct recording_line lines[3] = { 0 };
	uint32_t ret;

	assert_int_equal(recording_add_text(recording, names[0], &object.path), 0);
	assert_int_equal(recording_add_object(recording, &object, &frame.object), 0);
	for (; names[frame.nr_lines + 1]; frame.nr_lines++) {
		struct recording_function function = { 0 };

		assert_int_equal(
			recording_add_text(recording, names[frame.nr_lines + 1], &function.name),
			0);
		assert_int_equal(recording_add_function(recording, &function,
							&lines[frame.nr_lines].function),
				 0);
	}
	assert_int_equal(recording_add_frame(recording, &frame, lines, &ret), 0);
	return ret;
}

static void nodes_say_how_their_frames_were_found(void **state)
{
	static const char *const whole[] = { "/a", "f", NULL };
	static const char *const inlined[] = { "/a", "f", "g", NULL };
	static const char *const elsewhere[] = { "/b", "g", NULL };
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	CLEANUP(flame_tree_fini) struct flame_tree tree = { 0 };
	CLEANUP(recording_fini) struct recording recording;
	uint32_t stacks[3][2];

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	stacks[0][0] = add_frame(&recording, inlined, FPL_ORIGIN_CFI, 1);
	stacks[1][0] = add_frame(&recording, whole, FPL_ORIGIN_FP, 2);
	stacks[1][1] = add_frame(&recording, elsewhere, FPL_ORIGIN_SYNTH, 3);
	for (uint32_t i = 0; i < 2; i++) {
		const struct recording_stack stack = { .count = i + 1,
						       .nr_user = (uint16_t)(i + 1) };

		assert_int_equal(recording_add_stack(&recording, &stack, stacks[i], NULL), 0);
	}
	flame_paths_init(&paths);
	assert_int_equal(
		flame_paths_add(&paths, &recording, &(struct flame_paths_options){ 0 }, 0, NULL),
		0);
	flame_tree_make(&paths, &(struct flame_tree_options){ 0 }, &tree);
	assert_int_equal(tree.nodes.nr, 3);
	/* g: outermost in one, and the function that f is inlined in, in the other */
	assert_string_equal(flame_text(&paths, tree.nodes.list[1].text), "g");
	assert_int_equal(tree.nodes.list[1].kind, FUNCTION_USER);
	assert_true(tree.nodes.list[1].objects_differ);
	assert_int_equal(tree.nodes.list[1].found[FPL_ORIGIN_CFI], 1);
	assert_int_equal(tree.nodes.list[1].found[FPL_ORIGIN_SYNTH], 2);
	/* f: inlined in one alone */
	assert_string_equal(flame_text(&paths, tree.nodes.list[2].text), "f");
	assert_int_equal(tree.nodes.list[2].kind, FUNCTION_USER);
	assert_false(tree.nodes.list[2].objects_differ);
	assert_string_equal(flame_text(&paths, tree.nodes.list[2].object), "/a");
	assert_int_equal(tree.nodes.list[2].found[FPL_ORIGIN_FP], 2);
	assert_int_equal(paths.cells.list[0].kind, FUNCTION_INLINED);
}

static void paths_are_cut_where_they_are_long(void **state)
{
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	CLEANUP(flame_tree_fini) struct flame_tree tree = { 0 };
	CLEANUP(recording_fini) struct recording recording;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	fputs("c", to);
	for (uint32_t i = 0; i < 2 * FLAME_STEPS_MAX; i++)
		fprintf(to, ";%u", i % 3);
	fputs(" 3\nc;0 2\n", to);
	assert_int_equal(fclose(to), 0);
	read_folded(text, &recording);
	free(text);
	flame_paths_init(&paths);
	assert_int_equal(
		flame_paths_add(&paths, &recording, &(struct flame_paths_options){ 0 }, 0, NULL),
		0);
	assert_int_equal(paths.cut[0], 3);
	flame_tree_make(&paths, &(struct flame_tree_options){ 0 }, &tree);
	assert_int_equal(tree.nodes.nr, FLAME_STEPS_MAX + 1);
	assert_int_equal(tree.nodes.list[0].total[0], 5);
	assert_int_equal(tree.nodes.list[FLAME_STEPS_MAX].self[0], 3);
}

static void more_steps_than_may_be_are_refused(void **state)
{
	const struct flame_paths_options options = { .steps_max = 5 };
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	CLEANUP(recording_fini) struct recording recording;
	struct fpl_err err = { 0 };

	(void)state;
	read_folded("c;a;b 1\nc;a;d 1\nc;e;f 1\n", &recording);
	flame_paths_init(&paths);
	assert_int_equal(flame_paths_add(&paths, &recording, &options, 0, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "more than 5 frames"));
}

static void nothing_is_a_root_alone(void **state)
{
	CLEANUP(flame_paths_fini) struct flame_paths paths;
	CLEANUP(flame_tree_fini) struct flame_tree tree = { 0 };

	(void)state;
	flame_paths_init(&paths);
	flame_tree_make(&paths, &(struct flame_tree_options){ 0 }, &tree);
	assert_int_equal(tree.nodes.nr, 1);
	assert_int_equal(tree.nodes.list[0].end, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_sorted_and_know_their_common_prefix),
		cmocka_unit_test(equal_beginnings_are_one_and_siblings_are_in_order),
		cmocka_unit_test(pruned_frames_are_counted),
		cmocka_unit_test(a_tree_adds_up_to_its_paths),
		cmocka_unit_test(nodes_say_how_their_frames_were_found),
		cmocka_unit_test(paths_are_cut_where_they_are_long),
		cmocka_unit_test(more_steps_than_may_be_are_refused),
		cmocka_unit_test(nothing_is_a_root_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
