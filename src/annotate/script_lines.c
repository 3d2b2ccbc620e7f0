/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/script_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bpf/shared.h"
#include "view/measure.h"

/* The line that the innermost frame of a script in @stack is at; NULL: it has no such frame. */
static const struct recording_line *script_leaf(const struct recording *recording,
						const struct recording_stack *stack)
{
	/* those of who ended the wait come first */
	for (size_t i = recording_waker_frames(recording, stack); i < stack->nr_user; i++) {
		const struct recording_frame *frame = recording_frame_at(recording, stack, i);

		if (frame->origin == FPL_ORIGIN_SCRIPT && frame->nr_lines)
			return &recording->lines[frame->first_line];
	}
	return NULL;
}

static int by_place(const void *a, const void *b)
{
	const struct script_line *left = a, *right = b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static int by_samples(const void *a, const void *b)
{
	const struct script_function *left = a, *right = b;

	if (left->samples != right->samples)
		return left->samples > right->samples ? -1 : 1;
	return left->function < right->function ? -1 : left->function > right->function;
}

/* One for each stack, in order; and how many there are. */
static size_t list_leaves(const struct recording *recording, struct script_line *ret)
{
	struct measure measure;
	size_t nr = 0;

	measure_init(recording, &measure);
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		const struct recording_line *leaf = script_leaf(recording, stack);

		if (leaf)
			ret[nr++] = (struct script_line){ leaf->function, leaf->line,
							  measure_stack(&measure, stack) };
	}
	qsort(ret, nr, sizeof(*ret), by_place);
	return nr;
}

void script_lines_find(const struct recording *recording, struct script_lines *ret)
{
	struct script_line *lines = must_calloc(recording->nr_stacks + 1, sizeof(*lines));
	size_t nr_leaves = list_leaves(recording, lines);

	*ret = (struct script_lines){
		.lines = lines,
		.functions = must_calloc(nr_leaves + 1, sizeof(*ret->functions)),
	};
	for (size_t i = 0; i < nr_leaves; i++) {
		const struct script_line leaf = lines[i];
		struct script_line *last = ret->nr_lines ? &lines[ret->nr_lines - 1] : NULL;
		struct script_function *function;

		if (!last || last->function != leaf.function)
			ret->functions[ret->nr++] =
				(struct script_function){ .function = leaf.function,
							  .first_line = ret->nr_lines };
		function = &ret->functions[ret->nr - 1];
		function->samples += leaf.samples;
		if (last && !by_place(last, &leaf)) {
			last->samples += leaf.samples;
			continue;
		}
		function->nr_lines++;
		lines[ret->nr_lines++] = leaf;
	}
	qsort(ret->functions, ret->nr, sizeof(*ret->functions), by_samples);
}

void script_lines_fini(struct script_lines *lines)
{
	free(lines->functions);
	free(lines->lines);
	*lines = (struct script_lines){ 0 };
}

enum hot_match script_match(const char *function, const char *name)
{
	size_t whole = strlen(function), asked = strlen(name);

	if (!strcmp(function, name))
		return HOT_MATCH_NAME;
	if (!asked || asked >= whole || strcmp(function + (whole - asked), name) != 0)
		return HOT_MATCH_NONE;
	return strchr(".:#\\", function[whole - asked - 1]) ? HOT_MATCH_PLAIN : HOT_MATCH_NONE;
}
