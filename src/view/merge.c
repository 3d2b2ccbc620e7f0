/* SPDX-License-Identifier: Apache-2.0 */
#include "view/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
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

/* The lines under way, and where their ids go. */
struct merger {
	struct frame_texts *texts;
	enum merge_walk walk;
	bool delimited;
	uint32_t *ids; /* owned [room] */
	size_t nr, room;
};

static void merger_fini(struct merger *merger)
{
	free(merger->ids);
}

static int reserve(struct merger *merger, size_t wanted)
{
	return array_reserve(&merger->ids, sizeof(*merger->ids), &merger->room,
			     merger->nr + wanted);
}

/* Frames @frames [nr], leaf first, from the root to the leaf. */
static int put_frames(struct merger *merger, const uint32_t *frames, size_t nr)
{
	for (size_t i = nr; i-- > 0;) {
		size_t nr_texts;
		const uint32_t *texts = frame_texts_of(merger->texts, frames[i], &nr_texts);

		if (reserve(merger, nr_texts))
			return -ENOMEM;
		while (nr_texts-- > 0)
			merger->ids[merger->nr++] = texts[nr_texts];
	}
	return 0;
}

/* The line of @stack; its ids begin at merger->nr, which moves behind them. */
static int put_line(struct merger *merger, const struct recording_stack *stack,
		    uint32_t *ret_nr_labels)
{
	const struct recording *recording = merger->texts->recording;
	const uint32_t *user = &recording->frame_ids[stack->first_frame];
	const uint32_t *kernel = user + stack->nr_user;
	struct strings *strings = &merger->texts->strings;
	size_t nr_user = stack->nr_user;
	int err = reserve(merger, LABELS_MAX + 1);

	if (merger->walk == MERGE_FP) {
		user = kernel + stack->nr_kernel;
		nr_user = stack->nr_fp;
	}
	if (!err)
		err = labels_intern(merger->texts, stack, &merger->ids[merger->nr], ret_nr_labels);
	if (!err) {
		merger->nr += *ret_nr_labels;
		err = put_frames(merger, user, nr_user);
	}
	if (!err && merger->delimited && nr_user && stack->nr_kernel) {
		err = reserve(merger, 1);
		if (!err)
			err = strings_intern(strings, "-", &merger->ids[merger->nr++]);
	}
	return err ? err : put_frames(merger, kernel, stack->nr_kernel);
}

static int compare_ids(const void *left, const void *right)
{
	const struct merged_stack *a = left, *b = right;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return memcmp(a->ids, b->ids, a->nr * sizeof(*a->ids));
}

/*
 * Order two different lines as strcmp would order them joined by ';'. Texts hold no ';', so the
 * first place where they differ decides, an end of a text counting as ';' or as the line's end.
 */
static int compare_text(const struct strings *strings, const struct merged_stack *a,
			const struct merged_stack *b)
{
	uint32_t i = 0;

	while (i < a->nr && i < b->nr && a->ids[i] == b->ids[i])
		i++;
	if (i == a->nr || i == b->nr)
		return (a->nr > b->nr) - (a->nr < b->nr);

	const unsigned char *s = (const unsigned char *)strings_text(strings, a->ids[i]);
	const unsigned char *t = (const unsigned char *)strings_text(strings, b->ids[i]);
	while (*s && *s == *t) {
		s++;
		t++;
	}
	int left = *s ? *s : i + 1 < a->nr ? ';' : 0;
	int right = *t ? *t : i + 1 < b->nr ? ';' : 0;
	return left - right;
}

static int compare_count(const void *left, const void *right, void *strings)
{
	const struct merged_stack *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return compare_text(strings, a, b);
}

static void add_to(struct merged_stack *stack, const struct merged_stack *other)
{
	stack->count += other->count;
	if (other->elided > stack->elided)
		stack->elided = other->elided;
}

/* Make equal neighbours one. Returns how many are left. */
static size_t merge_sorted(struct merged_stack *stacks, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare_ids(&stacks[kept - 1], &stacks[i]))
			add_to(&stacks[kept - 1], &stacks[i]);
		else
			stacks[kept++] = stacks[i];
	}
	return kept;
}

static int put_lines(struct merger *merger, struct merged_stack *stacks)
{
	const struct recording *recording = merger->texts->recording;
	size_t at = 0;

	for (size_t i = 0; i < recording->nr_stacks; i++) {
		stacks[i].count = recording->stacks[i].count;
		if (merger->walk != MERGE_FP)
			stacks[i].elided = recording->stacks[i].elided;
		if (put_line(merger, &recording->stacks[i], &stacks[i].nr_labels))
			return -ENOMEM;
		stacks[i].nr = (uint32_t)(merger->nr - at);
		at = merger->nr;
	}
	at = 0;
	for (size_t i = 0; i < recording->nr_stacks; i++) { /* the ids are where they stay */
		stacks[i].ids = merger->ids + at;
		at += stacks[i].nr;
	}
	return 0;
}

int merge_stacks(struct frame_texts *texts, enum merge_walk walk, bool delimited,
		 struct merged *ret, struct fpl_err *err)
{
	const struct recording *recording = texts->recording;
	CLEANUP(merger_fini)
	struct merger merger = {
		.texts = texts,
		.walk = walk,
		.delimited = delimited,
	};
	AUTO_FREE struct merged_stack *stacks = calloc(recording->nr_stacks + 1, sizeof(*stacks));

	if (!stacks || put_lines(&merger, stacks))
		return fpl_fail(err, -ENOMEM, "out of memory for %zu stacks", recording->nr_stacks);
	qsort(stacks, recording->nr_stacks, sizeof(*stacks), compare_ids);
	size_t nr = merge_sorted(stacks, recording->nr_stacks);
	qsort_r(stacks, nr, sizeof(*stacks), compare_count, &texts->strings);
	*ret = (struct merged){ .stacks = TAKE_PTR(stacks), .nr = nr, .ids = TAKE_PTR(merger.ids) };
	return 0;
}
