/* SPDX-License-Identifier: Apache-2.0 */
#include "view/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/id_table.h"
#include "view/labels.h"

void merged_fini(struct merged *merged)
{
	free(merged->stacks);
	free(merged->ids);
}

uint64_t merged_samples(const struct merged *merged)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < merged->nr; i++)
		samples += merged->stacks[i].count;
	return samples;
}

/* The lines under way: behind merged->nr_ids is the one at hand. */
struct merger {
	struct frame_texts *texts;
	struct merged *merged;
	enum merge_walk walk;
	bool delimited;
	struct id_table found;
	size_t nr; /* ids of the line at hand */
};

static int reserve(struct merger *merger, size_t wanted)
{
	struct merged *merged = merger->merged;

	return array_reserve(&merged->ids, sizeof(*merged->ids), &merged->room_ids,
			     merged->nr_ids + merger->nr + wanted);
}

/* There is room for it. */
static uint32_t *line_end(struct merger *merger)
{
	return &merger->merged->ids[merger->merged->nr_ids + merger->nr];
}

/* Frames @frames [nr], leaf first, from the root to the leaf. */
static int put_frames(struct merger *merger, const uint32_t *frames, size_t nr)
{
	for (size_t i = nr; i-- > 0;) {
		size_t nr_texts;
		const uint32_t *texts = frame_texts_of(merger->texts, frames[i], &nr_texts);

		if (reserve(merger, nr_texts))
			return -ENOMEM;
		while (nr_texts-- > 0) {
			*line_end(merger) = texts[nr_texts];
			merger->nr++;
		}
	}
	return 0;
}

/* Put the line of @stack at hand. */
static int put_line(struct merger *merger, const struct recording_stack *stack,
		    uint32_t *ret_nr_labels)
{
	const struct recording *recording = merger->texts->recording;
	const uint32_t *user = &recording->frame_ids[stack->first_frame];
	const uint32_t *kernel = user + stack->nr_user;
	struct strings *strings = &merger->texts->strings;
	size_t nr_user = stack->nr_user;
	int err;

	merger->nr = 0;
	err = reserve(merger, LABELS_MAX);

	if (merger->walk == MERGE_FP) {
		user = kernel + stack->nr_kernel;
		nr_user = stack->nr_fp;
	}
	if (!err)
		err = labels_intern(merger->texts, stack, line_end(merger), ret_nr_labels);
	if (!err) {
		merger->nr = *ret_nr_labels;
		err = put_frames(merger, user, nr_user);
	}
	if (!err && merger->delimited && nr_user && stack->nr_kernel) {
		err = reserve(merger, 1);
		if (!err)
			err = strings_intern(strings, "-", line_end(merger));
		merger->nr++;
	}
	return err ? err : put_frames(merger, kernel, stack->nr_kernel);
}

/*
 * Order two different lines as strcmp would order them joined by ';'. Texts hold no ';', so the
 * first place where they differ decides, an end of a text counting as ';' or as the line's end.
 */
static int compare_text(const struct merged *merged, const struct merged_stack *a,
			const struct merged_stack *b)
{
	const uint32_t *ids = &merged->ids[a->first], *others = &merged->ids[b->first];
	uint32_t i = 0;

	while (i < a->nr && i < b->nr && ids[i] == others[i])
		i++;
	if (i == a->nr || i == b->nr)
		return (a->nr > b->nr) - (a->nr < b->nr);

	const unsigned char *s = (const unsigned char *)strings_text(merged->strings, ids[i]);
	const unsigned char *t = (const unsigned char *)strings_text(merged->strings, others[i]);
	while (*s && *s == *t) {
		s++;
		t++;
	}
	int left = *s ? *s : i + 1 < a->nr ? ';' : 0;
	int right = *t ? *t : i + 1 < b->nr ? ';' : 0;
	return left - right;
}

/* By count, ties by text. */
static int compare_stacks(const struct merged *merged, uint32_t left, uint32_t right)
{
	const struct merged_stack *a = &merged->stacks[left], *b = &merged->stacks[right];

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return compare_text(merged, a, b);
}

static int compare_indexes(const void *left, const void *right, void *merged)
{
	return compare_stacks(merged, *(const uint32_t *)left, *(const uint32_t *)right);
}

int merged_order(const struct merged *merged, uint32_t **ret)
{
	*ret = reallocarray(NULL, merged->nr + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < merged->nr; i++)
		(*ret)[i] = (uint32_t)i;
	qsort_r(*ret, merged->nr, sizeof(**ret), compare_indexes, (void *)(uintptr_t)merged);
	return 0;
}

size_t merged_hottest(const struct merged *merged, uint32_t *ret, size_t nr_max)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < merged->nr; i++) {
		size_t place = nr < nr_max ? nr++ : nr_max;

		for (; place && compare_stacks(merged, ret[place - 1], i) < 0; place--)
			if (place < nr_max)
				ret[place] = ret[place - 1];
		if (place < nr_max)
			ret[place] = i;
	}
	return nr;
}

static bool line_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct merger *merger = ctx;
	const struct merged_stack *stack = &merger->merged->stacks[index];

	return stack->nr == merger->nr &&
	       !memcmp(&merger->merged->ids[stack->first], key, merger->nr * sizeof(uint32_t));
}

/* Add @stack, whose line is at hand, to those that read the same. */
static int add_line(struct merger *merger, const struct recording_stack *stack, uint32_t nr_labels)
{
	struct merged *merged = merger->merged;
	const uint32_t *line = merged->ids + merged->nr_ids;
	uint64_t hash = id_table_hash(0, line, merger->nr * sizeof(*line));
	uint32_t idx = id_table_find(&merger->found, hash, line_equals, merger, line);
	uint32_t elided = merger->walk == MERGE_FP ? 0 : stack->elided;

	if (idx == ID_TABLE_NONE) {
		idx = (uint32_t)merged->nr;
		if (array_reserve(&merged->stacks, sizeof(*merged->stacks), &merged->room,
				  merged->nr + 1) ||
		    id_table_add(&merger->found, hash, idx))
			return -ENOMEM;
		merged->stacks[merged->nr++] = (struct merged_stack){
			.first = merged->nr_ids,
			.nr = (uint32_t)merger->nr,
			.nr_labels = nr_labels,
		};
		merged->nr_ids += merger->nr;
	}
	merged->stacks[idx].count += stack->count;
	if (elided > merged->stacks[idx].elided)
		merged->stacks[idx].elided = elided;
	return 0;
}

int merge_stacks(struct frame_texts *texts, enum merge_walk walk, bool delimited,
		 struct merged *ret, struct fpl_err *err)
{
	const struct recording *recording = texts->recording;
	struct merger merger = {
		.texts = texts,
		.merged = ret,
		.walk = walk,
		.delimited = delimited,
	};
	int error = 0;

	*ret = (struct merged){ .strings = &texts->strings };
	for (size_t i = 0; !error && i < recording->nr_stacks; i++) {
		uint32_t nr_labels;

		error = put_line(&merger, &recording->stacks[i], &nr_labels);
		if (!error)
			error = add_line(&merger, &recording->stacks[i], nr_labels);
	}
	id_table_fini(&merger.found);
	return error ? fpl_fail(err, -ENOMEM, "out of memory for %zu stacks", recording->nr_stacks)
		     : 0;
}
