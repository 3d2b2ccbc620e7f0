/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that a page weighs: what they hold of each group, what is left out, what two walks differ
 * in. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/recording_text.h"
#include "base/cleanup.h"
#include "picture/call_groups.h"
#include "picture/call_tree.h"
#include "picture/html_data.h"
#include "picture/html_parts.h"
#include "picture/html_threads.h"
#include "picture/html_time.h"
#include "picture/walk_pair.h"
#include "recording/verdict_class.h"
#include "view/annotation.h"

/* All that a tree is made of. */
struct made {
	struct recording recording;
	struct flame_paths paths;
	struct call_functions functions;
	struct call_groups groups;
	struct call_tree tree;
};

static void made_fini(struct made *made)
{
	call_tree_fini(&made->tree);
	call_groups_fini(&made->groups);
	call_functions_fini(&made->functions);
	flame_paths_fini(&made->paths);
	recording_fini(&made->recording);
}

static void read_text(const char *text, struct recording *ret)
{
	const struct read_options options = { .memory = READ_MEMORY_BYTES };
	struct fpl_err err = { 0 };

	if (recording_of(text, strlen(text), &options, ret, &err))
		fail_msg("%s", err.msg);
}

static void make(const char *text, uint64_t min_total, uint32_t nodes_max, struct made *ret)
{
	const struct flame_paths_options options = { .text.verbatim = true };
	struct fpl_err err = { 0 };

	*ret = (struct made){ 0 };
	read_text(text, &ret->recording);
	flame_paths_init(&ret->paths);
	assert_int_equal(flame_paths_add(&ret->paths, &ret->recording, &options, 0, &err), 0);
	call_functions_make(&ret->paths, 1, &ret->functions);
	call_groups_make(&ret->recording, 100, &ret->groups);

	const struct call_tree_options tree_options = {
		.sides = 1,
		.min_total = min_total,
		.nodes_max = nodes_max,
		.groups = ret->groups.of_stacks,
		.nr_stacks = ret->recording.nr_stacks,
	};

	call_tree_make(&ret->paths, &ret->functions, &tree_options, &ret->tree);
}

/* "name total" of each node, indented by depth, and behind it what ends there: "+count", or
 * "-count" in what is left out. */
static void expect_tree(const struct made *made, const char *expected)
{
	AUTO_FREE char *text = NULL;
	size_t size, end = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (uint32_t i = 0; i < made->tree.nodes.nr; i++) {
		const struct call_node *node = &made->tree.nodes.list[i];
		uint32_t name = made->functions.list[node->function].text;

		fprintf(to, "%*s%s %llu", (int)node->depth, "",
			i ? flame_text(&made->paths, name) : "all",
			(unsigned long long)node->total);
		for (; end < made->tree.ends.nr && made->tree.ends.list[end].node == i; end++)
			fprintf(to, " %c%llu", made->tree.ends.list[end].kind ? '-' : '+',
				(unsigned long long)made->tree.ends.list[end].count);
		putc('\n', to);
	}
	assert_int_equal(fclose(to), 0);
	assert_int_equal(end, made->tree.ends.nr);
	assert_string_equal(text, expected);
}

static const char STACKS[] = "app;main;a;b 3\n"
			     "app;main;a 2\n"
			     "app;main;c;a 1\n"
			     "zed;main;a;a 4\n"
			     "app;main;c;d 1\n";

static void every_sample_ends_in_its_node(void **state)
{
	CLEANUP(made_fini) struct made made;

	(void)state;
	make(STACKS, 0, 100, &made);
	expect_tree(&made, "all 11\n"
			   " app 7\n"
			   "  main 7\n"
			   "   a 5 +2\n"
			   "    b 3 +3\n"
			   "   c 2\n"
			   "    a 1 +1\n"
			   "    d 1 +1\n"
			   " zed 4\n"
			   "  main 4\n"
			   "   a 4\n"
			   "    a 4 +4\n");
	assert_int_equal(made.tree.left_nodes, 0);
}

static void a_recursion_counts_once_for_its_function(void **state)
{
	static const struct {
		const char *name;
		uint64_t self, total;
	} expected[] = { { "-", 0, 0 }, { "a", 7, 10 }, { "app", 0, 7 },   { "b", 3, 3 },
			 { "c", 0, 2 }, { "d", 1, 1 },	{ "main", 0, 11 }, { "zed", 0, 4 } };
	CLEANUP(made_fini) struct made made;

	(void)state;
	make(STACKS, 0, 100, &made);
	assert_int_equal(made.functions.nr, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct call_function *function = &made.functions.list[i];

		assert_string_equal(flame_text(&made.paths, function->text), expected[i].name);
		assert_int_equal(function->self, expected[i].self);
		assert_int_equal(function->total, expected[i].total);
	}
}

static void pruned_boxes_count_for_their_caller(void **state)
{
	CLEANUP(made_fini) struct made made;

	(void)state;
	make(STACKS, 2, 100, &made);
	expect_tree(&made, "all 11\n"
			   " app 7\n"
			   "  main 7\n"
			   "   a 5 +2\n"
			   "    b 3 +3\n"
			   "   c 2 -2\n" /* both of one group: one entry */
			   " zed 4\n"
			   "  main 4\n"
			   "   a 4\n"
			   "    a 4 +4\n");
	assert_int_equal(made.tree.left_nodes, 2);
}

static void as_many_nodes_as_there_is_room_for(void **state)
{
	static const struct {
		uint32_t nodes_max, nr;
		uint64_t min_total;
	} cases[] = { { 12, 12, 1 }, { 11, 10, 2 }, { 10, 10, 2 }, { 9, 9, 3 },
		      { 8, 8, 4 },   { 7, 4, 5 },   { 3, 3, 6 },   { 1, 1, 8 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(made_fini) struct made made;
		uint64_t samples = 0;

		make(STACKS, 0, cases[i].nodes_max, &made);
		if (made.tree.nodes.nr > cases[i].nodes_max ||
		    made.tree.min_total != cases[i].min_total)
			fail_msg("%u: %zu nodes of %llu", cases[i].nodes_max, made.tree.nodes.nr,
				 (unsigned long long)made.tree.min_total);
		for (size_t j = 0; j < made.tree.ends.nr; j++)
			samples += made.tree.ends.list[j].count;
		assert_int_equal(samples, 11);
		assert_int_equal(made.tree.nodes.nr + made.tree.left_nodes, 12);
	}
}

static void a_tree_of_both_sides_has_them_as_groups(void **state)
{
	static const char *const texts[] = { "app;main;a 2\napp;main;gone 1\n",
					     "app;main;a 3\napp;main;new 4\n" };
	static const struct {
		const char *name, *object;
		uint8_t kind;
		bool there;
	} lookups[] = {
		{ "a", "-", FUNCTION_USER, true },    { "gone", "-", FUNCTION_USER, true },
		{ "new", "-", FUNCTION_USER, true },  { "app", "", FUNCTION_LABEL, true },
		{ "a", "-", FUNCTION_KERNEL, false }, { "a", "", FUNCTION_USER, false },
		{ "zz", "-", FUNCTION_USER, false },  { "", "", FUNCTION_LABEL, false },
	};
	const struct flame_paths_options options = { .places = true, .no_objects = true };
	const struct call_tree_options tree_options = { .sides = 3, .nodes_max = 100 };
	CLEANUP(made_fini) struct made made = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	flame_paths_init(&made.paths);
	for (unsigned side = 0; side < 2; side++) {
		CLEANUP(recording_fini) struct recording run = { 0 };

		read_text(texts[side], &run);
		assert_int_equal(flame_paths_add(&made.paths, &run, &options, side, &err), 0);
	}
	call_functions_make(&made.paths, 3, &made.functions);
	call_tree_make(&made.paths, &made.functions, &tree_options, &made.tree);
	expect_tree(&made, "all 10\n"
			   " app 10\n"
			   "  main 10\n"
			   "   a 5 +2 +3\n"
			   "   gone 1 +1\n"
			   "   new 4 +4\n");
	for (size_t i = 0; i < made.tree.ends.nr; i++)
		assert_int_equal(made.tree.ends.list[i].group, i == 1 || i == 3);
	for (size_t i = 0; i < ARRAY_SIZE(lookups); i++) {
		size_t found = call_functions_find(&made.functions, &made.paths, lookups[i].name,
						   lookups[i].object, lookups[i].kind);

		if ((found < made.functions.nr) != lookups[i].there)
			fail_msg("%s: %zu of %zu", lookups[i].name, found, made.functions.nr);
		if (lookups[i].there)
			assert_string_equal(
				flame_text(&made.paths, made.functions.list[found].text),
				lookups[i].name);
	}
}

static void beyond_as_many_groups_pids_are_one(void **state)
{
	static const char text[] =
		"{\"type\":\"meta\",\"format\":1,\"event\":\"cpu-clock\",\"period_ns\":1,\"hz\":1,"
		"\"start_unix_ns\":1,\"duration_ns\":1,\"cpus\":1,\"kernel\":\"6\",\"argv\":[]}\n"
		"{\"type\":\"stack\",\"count\":1,\"weight_ns\":1,\"comm\":\"a\",\"pid\":1,"
		"\"stop\":\"outermost\",\"user\":[],"
		"\"kernel\":[]}\n"
		"{\"type\":\"stack\",\"count\":1,\"weight_ns\":1,\"comm\":\"a\",\"pid\":2,"
		"\"stop\":\"outermost\",\"user\":[],"
		"\"kernel\":[]}\n"
		"{\"type\":\"stack\",\"count\":1,\"weight_ns\":1,\"comm\":\"b\",\"pid\":3,"
		"\"stop\":\"fp_end\",\"user\":[],"
		"\"kernel\":[]}\n"
		"{\"type\":\"books\",\"format\":1,\"shown\":3}\n";
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	read_text(text, &recording);
	for (size_t nr_max = 2; nr_max <= 3; nr_max++) {
		CLEANUP(call_groups_fini) struct call_groups groups = { 0 };

		call_groups_make(&recording, nr_max, &groups);
		assert_int_equal(groups.all.nr, nr_max);
		assert_int_equal(groups.all.list[0].has_pid, nr_max == 3);
		assert_int_equal(groups.all.list[groups.of_stacks[2]].stop, FPL_STOP_FP_END);
	}
}

static void groups_split_by_the_rows_of_code(void **state)
{
	/* "a" with row 4 (two stacks), without code, and with row 0; "b" with row 4 */
	static const char comms[] = "abaaa";
	static const uint32_t rows[] = { 4, 4, ANNOTATION_NONE, 4, 0 };
	static const uint32_t groups_of[] = { 2, 3, 0, 2, 4 };
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(call_groups_fini) struct call_groups groups = { 0 };

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char comm[] = { comms[i], '\0' };
		struct recording_stack key = { .count = 1, .has = RECORDING_HAS_COMM, .task = i };

		assert_int_equal(recording_add_text(&recording, comm, &key.comm), 0);
		assert_int_equal(recording_add_stack(&recording, &key, NULL, NULL), 0);
	}
	call_groups_make(&recording, 100, &groups);
	assert_int_equal(groups.all.nr, 2);
	call_groups_split(&groups, &recording, rows);
	assert_int_equal(groups.rows.nr, 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(groups.of_stacks[i], groups_of[i]);
		if (rows[i] == ANNOTATION_NONE)
			continue;
		assert_int_equal(groups.rows.list[groups_of[i] - 2].row, rows[i]);
		assert_int_equal(groups.rows.list[groups_of[i] - 2].group, i == 1);
	}
}

/* Frames are letters, leaf first. */
static void add_walks(struct recording *recording, const char *c, const char *f, uint8_t class)
{
	struct recording_stack key = { .count = 1,
				       .has = RECORDING_HAS_FP,
				       .class = class,
				       .nr_user = (uint16_t)strlen(c),
				       .nr_fp = (uint16_t)strlen(f) };
	uint32_t ids[32];
	size_t nr = 0;

	for (const char *at = c;; at++) {
		if (!*at && nr == key.nr_user)
			at = f;
		if (!*at)
			break;

		struct recording_frame frame = {
			.address = (uint64_t)*at,
			.start = RECORDING_NO_ADDRESS,
			.origin = nr < key.nr_user ? FPL_ORIGIN_CFI : FPL_ORIGIN_FP,
		};

		assert_int_equal(recording_add_frame(recording, &frame, NULL, &ids[nr++]), 0);
		if (nr == (size_t)key.nr_user + key.nr_fp)
			break;
	}
	assert_int_equal(recording_add_stack(recording, &key, ids, NULL), 0);
}

/* A mark is a letter of lwgc, a frame without one is '.'. */
static void marks_text(const uint8_t *marks, size_t nr, char *ret)
{
	for (size_t i = 0; i < nr; i++)
		ret[i] = "lwgc."[marks[i]];
	ret[nr] = '\0';
}

static void frames_of_both_walks_are_marked(void **state)
{
	static const struct {
		const char *what, *c, *f;
		uint8_t class;
		const char *marks_c, *marks_f;
	} cases[] = {
		{ "the same", "abcd", "abcd", VERDICT_AGREE, "....", "...." },
		{ "one left out", "abcd", "acd", VERDICT_SKIP, ".l..", "g.." },
		{ "two left out", "abcde", "ace", VERDICT_SKIP, ".l.l.", "gg." },
		{ "the end missing", "abcd", "ab", VERDICT_CUT, "..ll", ".c" },
		{ "all but the leaf", "abcd", "a", VERDICT_CUT, ".lll", "c" },
		{ "nothing", "abcd", "", VERDICT_CUT, "llll", "" },
		{ "one left out and the end", "abcd", "ac", VERDICT_SKIP, ".l.l", "gc" },
		{ "one that is not there", "abcd", "axcd", VERDICT_WRONG, ".l..", ".w.." },
		{ "all wrong", "abcd", "xy", VERDICT_WRONG, "llll", "ww" },
		{ "out of order", "abcd", "acbd", VERDICT_WRONG, ".l..", "g.w." },
		{ "too many", "abc", "abcz", VERDICT_WRONG, "...", "...w" },
		{ "nothing to judge by", "abcd", "xy", VERDICT_UNJUDGED, "....", ".." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording recording = { 0 };
		uint8_t marks_c[32], marks_f[32];
		char text_c[33], text_f[33];

		assert_int_equal(recording_init(&recording), 0);
		add_walks(&recording, cases[i].c, cases[i].f, cases[i].class);
		walk_pair_mark(&recording, &recording.stacks[0], marks_c, marks_f);
		marks_text(marks_c, strlen(cases[i].c), text_c);
		marks_text(marks_f, strlen(cases[i].f), text_f);
		if (strcmp(text_c, cases[i].marks_c) != 0 || strcmp(text_f, cases[i].marks_f) != 0)
			fail_msg("%s: %s %s", cases[i].what, text_c, text_f);
	}
}

static void add_event(struct recording *recording, uint64_t time_ns, uint32_t stack)
{
	const struct recording_event event = { .time_ns = time_ns, .stack = stack };

	assert_int_equal(recording_add_event(recording, &event), 0);
}

static void moments_are_where_their_stacks_end_slice_by_slice(void **state)
{
	static const struct {
		const char *what;
		uint64_t period_ns;
		size_t nr_max;
		const char *text;
	} cases[] = {
		{ "as fine as may be", 0, 100,
		  "slices 400 of 26: 3,0@0x1 3,0@38x1 3,0@399x2 4,1@39x1 4,1@79x1" },
		{ "whole periods", 1000, 100,
		  "slices 11 of 1000: 3,0@0x1 3,0@1x1 3,0@10x2 4,1@1x1 4,1@2x1" },
		{ "no more than so many", 1000, 4,
		  "slices 6 of 2000: 3,0@0x2 3,0@5x2 4,1@0x1 4,1@1x1" },
		{ "one at last", 1000, 1, "slices 1 of 16000: 3,0@0x4 4,1@0x2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(made_fini) struct made made;
		CLEANUP(html_time_fini) struct html_time time = { 0 };
		char text[256];
		int at;

		/* stacks: main;a, and main;c;d, which is left out of the tree below c */
		make("app;main;a 4\napp;main;c;d 1\napp;main;c;e 1\n", 2, 100, &made);
		made.recording.period = cases[i].period_ns;
		add_event(&made.recording, 500, 0);
		add_event(&made.recording, 1500, 0);
		add_event(&made.recording, 1530, 1);
		add_event(&made.recording, 2570, 2);
		add_event(&made.recording, 10889, 0);
		add_event(&made.recording, 10890, 0);
		html_time_make(&made.recording, made.groups.of_stacks, &made.tree, cases[i].nr_max,
			       &time);
		at = snprintf(text, sizeof(text), "slices %u of %llu:", time.nr_slices,
			      (unsigned long long)time.slice_ns);
		for (size_t j = 0; j < time.nr; j++)
			at += snprintf(text + at, sizeof(text) - (size_t)at, " %u,%u@%ux%llu",
				       time.list[j].node, time.list[j].what, time.list[j].slice,
				       (unsigned long long)time.list[j].shown);
		if (strcmp(text, cases[i].text) != 0)
			fail_msg("%s: %s", cases[i].what, text);
		assert_int_equal(time.shown, 6);
	}
}

/* The member "threads" of the page of @made, of @nr_max samples at most. */
static char *threads_text(struct made *made, size_t nr_max)
{
	CLEANUP(html_time_fini) struct html_time time = { 0 };
	CLEANUP(html_threads_fini) struct html_threads threads = { 0 };
	CLEANUP(html_parts_fini) struct html_parts parts = { 0 };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	html_time_make(&made->recording, made->groups.of_stacks, &made->tree, nr_max, &time);
	html_threads_make(&made->recording, made->groups.of_stacks, &made->tree, &time, nr_max,
			  &made->paths, &threads);
	html_parts_init(to, &made->paths, &made->functions, &parts);
	html_threads_write(&parts, &threads);
	assert_int_equal(fclose(to), 0);
	return text;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static void threads_have_their_samples_in_time(void **state)
{
	static const struct recording_event events[] = {
		{ .time_ns = 500, .stack = 0, .tid = 7 },
		{ .time_ns = 1000, .stack = 1, .tid = 8, .weight = 1000 },
		{ .time_ns = 1500, .stack = 0, .tid = 7, .weight = 3000 },
		{ .time_ns = 2500, .stack = 2, .tid = 7, .weight = 1000 },
	};
	static const struct {
		const char *what;
		size_t nr_events, nr_max;
		const char *text;
	} cases[] = {
		/* slices are 1000 ns; one sample of each of stacks 0, 1 and 2 has no time */
		{ "those of most samples first", 4, 100,
		  "\"pid\":[0,0,0],\"tid\":[0,7,8],\"samples\":[3,3,1],\"parts\":65536,\"usual_ns\":1000,"
		  "\"nr_timed\":[0,3,1],\"timed\":[0,0,0,65536,0,3000,65536,1,0,32768,1,0],"
		  "\"untimed\":[0,0,1,0,1,1,0,1,1],\"left_out\":{\"threads\":0,\"samples\":0}}" },
		{ "no more than so many", 4, 4,
		  "\"pid\":[0,0],\"tid\":[0,8],\"samples\":[3,1],\"parts\":65536,\"usual_ns\":1000,"
		  "\"nr_timed\":[0,1],\"timed\":[32768,1,0],"
		  "\"untimed\":[0,0,1,0,1,1,0,1,1],\"left_out\":{\"threads\":1,\"samples\":3}}" },
		{ "no threads", 0, 100, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(made_fini) struct made made;
		AUTO_FREE char *text = NULL;

		/* stacks: main;a, and main;c;d, which is left out of the tree below c */
		make("app;main;a 3\napp;main;c;d 2\napp;main;c;e 2\n", 3, 100, &made);
		made.recording.period = 1000;
		made.recording.duration_ns = 10000;
		for (size_t j = 0; j < cases[i].nr_events; j++)
			assert_int_equal(recording_add_event(&made.recording, &events[j]), 0);
		text = threads_text(&made, cases[i].nr_max);
		if (!ends_with(text, cases[i].text) || (text[0] && !cases[i].text[0]))
			fail_msg("%s: %s", cases[i].what, text);
	}
}

static void no_text_of_a_page_holds_a_tag(void **state)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	AUTO_FREE char *text = NULL;
	struct fpl_err err;
	uint64_t shown = 0;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	read_text("</script>;<!--;a<b 2\n", &recording);
	assert_int_equal(
		html_data_write(to, &recording, &(struct format_options){ 0 }, &shown, &err), 0);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(shown, 2);
	assert_null(strchr(text, '<'));
	assert_non_null(strstr(text, "\"\\u003c/script>\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_ends_in_its_node),
		cmocka_unit_test(a_recursion_counts_once_for_its_function),
		cmocka_unit_test(pruned_boxes_count_for_their_caller),
		cmocka_unit_test(as_many_nodes_as_there_is_room_for),
		cmocka_unit_test(a_tree_of_both_sides_has_them_as_groups),
		cmocka_unit_test(beyond_as_many_groups_pids_are_one),
		cmocka_unit_test(groups_split_by_the_rows_of_code),
		cmocka_unit_test(frames_of_both_walks_are_marked),
		cmocka_unit_test(moments_are_where_their_stacks_end_slice_by_slice),
		cmocka_unit_test(threads_have_their_samples_in_time),
		cmocka_unit_test(no_text_of_a_page_holds_a_tag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
