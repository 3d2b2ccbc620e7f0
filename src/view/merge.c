/* SPDX-License-Identifier: Apache-2.0 */
#include "view/merge.h"

#include <stdlib.h>

#include "view/labels.h"
#include "view/measure.h"

void merged_fini(struct merged *merged)
{
	sequences_fini(&merged->lines);
	vector_fini(&merged->stacks);
}

uint64_t merged_sum(const struct merged *merged)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < merged->stacks.nr; i++)
		sum += merged->stacks.list[i].shown;
	return sum;
}

/*
 * Order two different lines as strcmp would order them joined by ';'. Texts hold no ';', so the
 * first place where they differ decides, an end of a text counting as ';' or as the line's end.
 */
static int compare_text(const struct merged *merged, uint32_t left, uint32_t right)
{
	const struct sequence *a = &merged->lines.list[left], *b = &merged->lines.list[right];
	const uint32_t *ids = sequence_ids(&merged->lines, left);
	const uint32_t *others = sequence_ids(&merged->lines, right);
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
	int c = *s ? *s : i + 1 < a->nr ? ';' : 0;
	int d = *t ? *t : i + 1 < b->nr ? ';' : 0;
	return c - d;
}

/* By what is shown, ties by text. */
static int compare_stacks(const struct merged *merged, uint32_t left, uint32_t right)
{
	const struct merged_stack *a = &merged->stacks.list[left], *b = &merged->stacks.list[right];

	if (a->shown != b->shown)
		return a->shown < b->shown ? -1 : 1;
	return compare_text(merged, left, right);
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

/* Put the line of @stack. Returns how many labels it has. */
static uint32_t put_line(struct frame_texts *texts, const struct recording_stack *stack,
			 const struct stack_slot_options *options, struct stack_slots *line)
{
	uint32_t labels[LABELS_MAX], nr_labels = labels_intern(texts, stack, labels);

	line->nr = 0;
	for (uint32_t i = 0; i < nr_labels; i++)
		must_push(line, labels[i]);
	must_stack_slots(texts, stack, options, line);
	for (size_t i = nr_labels; i < line->nr; i++)
		line->list[i] = line->list[i] == STACK_DELIMITER
					? must_strings_intern(&texts->strings, "-")
					: texts->ids[line->list[i]];
	return nr_labels;
}

void merge_stacks(struct frame_texts *texts, enum merge_walk walk, bool delimited,
		  struct merged *ret)
{
	const struct recording *recording = texts->recording;
	const struct stack_slot_options options = { .walk = walk, .delimited = delimited };
	struct stack_slots line = { 0 };
	struct measure measure;

	measure_init(recording, &measure);
	*ret = (struct merged){ .strings = &texts->strings };
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		uint32_t nr_labels = put_line(texts, stack, &options, &line);
		uint32_t idx = must_sequences_add(&ret->lines, line.list, line.nr, nr_labels);
		uint32_t elided = walk == MERGE_FP ? 0 : stack->elided;

		if (idx == ret->stacks.nr)
			must_push(&ret->stacks, { 0 });
		ret->stacks.list[idx].shown += measure_stack(&measure, stack);
		if (elided > ret->stacks.list[idx].elided)
			ret->stacks.list[idx].elided = elided;
	}
	sequences_settle(&ret->lines);
	vector_fini(&line);
}
