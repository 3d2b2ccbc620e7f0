/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/hot_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/frame_texts.h"
#include "view/measure.h"

/* A frame that is the leaf of samples. */
struct leaf {
	const struct recording_frame *frame;
	uint64_t samples;
	uint32_t file; /* text: the build-id, or the path of its object */
	uint32_t name; /* text; 0: none */
	uint64_t start, pc;
};

static uint32_t file_of(const struct recording *recording, uint32_t object)
{
	const struct recording_object *at = &recording->objects[object];

	return at->build_id ? at->build_id : at->path;
}

static uint32_t name_of(const struct recording *recording, const struct recording_frame *frame)
{
	const struct recording_function *function = recording_function_of(recording, frame);

	return function ? function->name : 0;
}

static int compare(uint64_t left, uint64_t right)
{
	return left < right ? -1 : left > right;
}

/* By function: the file and its start; where that is not known, by its name. */
static int compare_functions(const struct leaf *left, const struct leaf *right)
{
	int order = compare(left->file, right->file);

	if (!order)
		order = compare(left->start, right->start);
	if (!order && left->start == RECORDING_NO_ADDRESS)
		order = compare(left->name, right->name);
	return order;
}

static int by_place(const void *a, const void *b)
{
	const struct leaf *left = a, *right = b;
	int order = compare_functions(left, right);

	return order ? order : compare(left->pc, right->pc);
}

/* The frame of user code that the thread of @stack ran in; NULL: it ran in the kernel, or has no
 * frames. */
static const struct recording_frame *user_leaf(const struct recording *recording,
					       const struct recording_stack *stack)
{
	const struct recording_frame *leaf = recording_own_leaf(recording, stack);

	return leaf && !stack->nr_kernel && leaf->kind != RECORDING_KERNEL ? leaf : NULL;
}

/* Adds up the samples of each frame that is a leaf: to @ret [recording->nr_frames]. */
static void count_leaves(const struct recording *recording, struct hot_code *code, uint64_t *ret)
{
	struct measure measure;

	measure_init(recording, &measure);
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		uint64_t shown = measure_stack(&measure, stack);
		const struct recording_frame *frame = user_leaf(recording, stack);

		code->samples += shown;
		if (!frame)
			continue;
		if (frame->address == RECORDING_NO_ADDRESS)
			code->without += shown;
		else
			ret[frame - recording->frames] += shown;
	}
}

static size_t list_leaves(const struct recording *recording, const uint64_t *samples,
			  struct leaf *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < recording->nr_frames; i++) {
		const struct recording_frame *frame = &recording->frames[i];

		if (!samples[i])
			continue;
		ret[nr] = (struct leaf){ .frame = frame,
					 .samples = samples[i],
					 .file = file_of(recording, frame->object),
					 .name = name_of(recording, frame),
					 .start = frame->start,
					 .pc = frame_lookup_pc(frame->address, frame->exact) };
		/* of code without a name and a start, nothing tells whether two pcs are of one */
		if (!ret[nr].name && ret[nr].start == RECORDING_NO_ADDRESS)
			ret[nr].start = ret[nr].pc;
		nr++;
	}
	qsort(ret, nr, sizeof(*ret), by_place);
	return nr;
}

static void add_leaf(struct hot_code *code, const struct recording *recording,
		     const struct leaf *leaf, bool is_first)
{
	struct hot_function *function = &code->functions[code->nr - 1];

	if (is_first || code->pcs[code->nr_pcs - 1].pc != leaf->pc)
		code->pcs[code->nr_pcs++] = (struct hot_pc){ .pc = leaf->pc };
	code->pcs[code->nr_pcs - 1].samples += leaf->samples;
	code->pc_of_frames[leaf->frame - recording->frames] = (uint32_t)code->nr_pcs - 1;
	function->samples += leaf->samples;
	function->nr_pcs = code->nr_pcs - function->first_pc;
}

static char *show_name(const struct recording *recording, const struct leaf *leaf)
{
	char *name;

	if (leaf->name)
		return must_strdup(recording_string(recording, leaf->name));
	name = frame_unnamed_text(recording, leaf->frame, false);
	if (!name)
		alloc_fail();
	return name;
}

static int by_samples(const void *a, const void *b)
{
	const struct hot_function *left = a, *right = b;
	int order = compare(right->samples, left->samples);

	return order ? order : strcmp(left->name, right->name);
}

void hot_code_find(const struct recording *recording, struct hot_code *ret)
{
	AUTO_FREE uint64_t *samples = must_calloc(recording->nr_frames + 1, sizeof(*samples));
	AUTO_FREE struct leaf *leaves = must_calloc(recording->nr_frames + 1, sizeof(*leaves));
	size_t nr;

	*ret = (struct hot_code){ .nr = 0 };
	count_leaves(recording, ret, samples);
	nr = list_leaves(recording, samples, leaves);
	ret->functions = must_calloc(nr + 1, sizeof(*ret->functions));
	ret->pcs = must_calloc(nr + 1, sizeof(*ret->pcs));
	ret->pc_of_frames = must_calloc(recording->nr_frames + 1, sizeof(*ret->pc_of_frames));
	memset(ret->pc_of_frames, 0xff, recording->nr_frames * sizeof(*ret->pc_of_frames));
	for (size_t i = 0; i < nr; i++) {
		bool is_first = !i || compare_functions(&leaves[i - 1], &leaves[i]);

		if (is_first)
			ret->functions[ret->nr++] =
				(struct hot_function){ .name = show_name(recording, &leaves[i]),
						       .object = leaves[i].frame->object,
						       .start = leaves[i].start,
						       .first_pc = ret->nr_pcs };
		add_leaf(ret, recording, &leaves[i], is_first);
	}
	qsort(ret->functions, ret->nr, sizeof(*ret->functions), by_samples);
}

void hot_code_fini(struct hot_code *code)
{
	for (size_t i = 0; i < code->nr; i++)
		free(code->functions[i].name);
	free(code->functions);
	free(code->pcs);
	free(code->pc_of_frames);
	*code = (struct hot_code){ .nr = 0 };
}

uint32_t hot_code_pc(const struct hot_code *code, const struct recording *recording,
		     const struct recording_stack *stack)
{
	const struct recording_frame *leaf = user_leaf(recording, stack);

	return leaf ? code->pc_of_frames[leaf - recording->frames] : HOT_CODE_NO_PC;
}

/*
 * The part of a readable name between what it is a member of and its parameters: those in brackets
 * are passed over, and "operator()" is no parameter list.
 */
static size_t plain_name(const char *function, const char **ret)
{
	static const char call[] = "operator()";
	const char *at = function;
	unsigned depth = 0;

	*ret = function;
	for (; *at; at++) {
		if (!strncmp(at, call, sizeof(call) - 1))
			at += sizeof(call) - 2;
		else if (*at == '<')
			depth++;
		else if (*at == '>' && depth)
			depth--;
		else if (*at == '(' && at[1] != '*' && !depth && at > *ret)
			break;
		else if (!strncmp(at, "::", 2) && !depth)
			*ret = ++at + 1;
	}
	return (size_t)(at - *ret);
}

enum hot_match hot_match(const char *function, const char *name)
{
	const char *plain, *begin;
	size_t size = plain_name(function, &plain), asked = strlen(name), whole;

	if (!strcmp(function, name))
		return HOT_MATCH_NAME;
	whole = (size_t)(plain - function) + size;
	if (asked < size || asked > whole)
		return HOT_MATCH_NONE;
	begin = function + (whole - asked);
	if (strncmp(begin, name, asked) != 0)
		return HOT_MATCH_NONE;
	return begin == function || (begin - function >= 2 && !strncmp(begin - 2, "::", 2))
		       ? HOT_MATCH_PLAIN
		       : HOT_MATCH_NONE;
}
