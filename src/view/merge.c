/* SPDX-License-Identifier: Apache-2.0 */
#include "view/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "view/labels.h"

void merged_fini(struct merged *merged)
{
	vector_fini(&merged->stacks);
	vector_fini(&merged->ids);
}

uint64_t merged_samples(const struct merged *merged)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < merged->stacks.nr; i++)
		samples += merged->stacks.list[i].count;
	return samples;
}

/* Stacks are lines of merged->ids; the last one is new until others are found to be equal. */
struct merger {
	struct frame_texts *texts;
	struct merged *merged;
	enum merge_walk walk;
	bool delimited;
	struct id_table found;
};

/* Frames @frames [nr], leaf first, from the root to the leaf. */
static void put_frames(struct merger *merger, const uint32_t *frames, size_t nr)
{
	for (size_t i = nr; i-- > 0;) {
		size_t nr_texts;
		const uint32_t *texts = frame_texts_of(merger->texts, frames[i], &nr_texts);

		while (nr_texts-- > 0)
			must_push(&merger->merged->ids, texts[nr_texts]);
	}
}

/* Put the line of @stack behind the others. Returns how many labels it has. */
static uint32_t put_line(struct merger *merger, const struct recording_stack *stack)
{
	const struct recording *recording = merger->texts->recording;
	const uint32_t *user = &recording->frame_ids[stack->first_frame];
	const uint32_t *kernel = user + stack->nr_user;
	uint32_t labels[LABELS_MAX], nr_labels = labels_intern(merger->texts, stack, labels);
	size_t nr_user = stack->nr_user;

	if (merger->walk == MERGE_FP) {
		user = kernel + stack->nr_kernel;
		nr_user = stack->nr_fp;
	}
	for (uint32_t i = 0; i < nr_labels; i++)
		must_push(&merger->merged->ids, labels[i]);
	put_frames(merger, user, nr_user);
	if (merger->delimited && nr_user && stack->nr_kernel)
		must_push(&merger->merged->ids, must_strings_intern(&merger->texts->strings, "-"));
	put_frames(merger, kernel, stack->nr_kernel);
	return nr_labels;
}

/*
 * Order two different lines as strcmp would order them joined by ';'. Texts hold no ';', so the
 * first place where they differ decides, an end of a text counting as ';' or as the line's end.
 */
static int compare_text(const struct merged *merged, const struct merged_stack *a,
			const struct merged_stack *b)
{
	const uint32_t *ids = &merged->ids.list[a->first], *others = &merged->ids.list[b->first];
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
	const struct merged_stack *a = &merged->stacks.list[left], *b = &merged->stacks.list[right];

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return compare_text(merged, a, b);
}

static int compare_indexes(const void *left, const void *right, void *merged)
{
	return compare_stacks(merged, *(const uint32_t *)left, *(const uint32_t *)right);
}

uint32_t *merged_order(const struct merged *merged)
{
	uint32_t *order = must_calloc(merged->stacks.nr, sizeof(*order));

	for (size_t i = 0; i < merged->stacks.nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, merged->stacks.nr, sizeof(*order), compare_indexes,
		(void *)(uintptr_t)merged);
	return order;
}

size_t merged_hottest(const struct merged *merged, uint32_t *ret, size_t nr_max)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < merged->stacks.nr; i++) {
		size_t place = nr < nr_max ? nr++ : nr_max;

		for (; place && compare_stacks(merged, ret[place - 1], i) < 0; place--)
			if (place < nr_max)
				ret[place] = ret[place - 1];
		if (place < nr_max)
			ret[place] = i;
	}
	return nr;
}

/* Add @stack to those that read the same. */
static void add_stack(struct merger *merger, const struct recording_stack *stack)
{
	struct merged *merged = merger->merged;
	size_t first = merged->ids.nr;
	uint32_t nr_labels = put_line(merger, stack);
	size_t nr = merged->ids.nr - first;
	const uint32_t *ids = merged->ids.list;
	const struct merged_stack *list = merged->stacks.list;
	uint64_t hash = id_table_hash(0, ids + first, nr * sizeof(*ids));
	uint32_t idx =
		ID_TABLE_FIND(&merger->found, hash, i,
			      list[i].nr == nr && (!nr || !memcmp(ids + list[i].first, ids + first,
								  nr * sizeof(*ids))));
	uint32_t elided = merger->walk == MERGE_FP ? 0 : stack->elided;

	if (idx == ID_TABLE_NONE) {
		idx = (uint32_t)merged->stacks.nr;
		must_id_table_add(&merger->found, hash, idx);
		must_push(&merged->stacks,
			  { .first = first, .nr = (uint32_t)nr, .nr_labels = nr_labels });
	} else {
		merged->ids.nr = first;
	}
	merged->stacks.list[idx].count += stack->count;
	if (elided > merged->stacks.list[idx].elided)
		merged->stacks.list[idx].elided = elided;
}

void merge_stacks(struct frame_texts *texts, enum merge_walk walk, bool delimited,
		  struct merged *ret)
{
	const struct recording *recording = texts->recording;
	struct merger merger = {
		.texts = texts,
		.merged = ret,
		.walk = walk,
		.delimited = delimited,
	};

	*ret = (struct merged){ .strings = &texts->strings };
	must_reserve(&ret->ids, 1); /* a line may have none */
	for (size_t i = 0; i < recording->nr_stacks; i++)
		add_stack(&merger, &recording->stacks[i]);
	id_table_fini(&merger.found);
}
