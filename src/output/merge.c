/* SPDX-License-Identifier: Apache-2.0 */
#include "output/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/labels.h"

void merged_fini(struct merged *merged)
{
	free(merged->stacks);
	free(merged->ids);
}

/* Write the ids of @stack's line to @ids, which has room for labels, frames and one more. */
static int line_ids(struct names *names, const struct profile_stack *stack, enum merge_walk walk,
		    bool delimited, uint32_t *ids, uint32_t *ret_nr)
{
	const uint64_t *kernel = stack->frames + stack->nr_user;
	const uint64_t *user = walk == MERGE_FP ? kernel + stack->nr_kernel : stack->frames;
	size_t nr_user = walk == MERGE_FP ? stack->nr_fp : stack->nr_user;
	struct frame_name name;
	uint32_t labels[LABELS_MAX], nr = (uint32_t)labels_nr(names->profile);
	int err = labels_intern(names, stack, labels);

	memcpy(ids, labels, err ? 0 : nr * sizeof(*ids));

	for (size_t i = nr_user; !err && i-- > 0;) {
		err = names_user(names, stack, user[i], &name);
		ids[nr++] = name.text;
	}
	if (!err && delimited && nr_user && stack->nr_kernel)
		err = strings_intern(&names->strings, "-", &ids[nr++]);
	for (size_t i = stack->nr_kernel; !err && i-- > 0;) {
		err = names_kernel(names, kernel[i], i, &name);
		ids[nr++] = name.text;
	}
	*ret_nr = nr;
	return err;
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

/* Make equal neighbours one. Returns how many are left. */
static size_t merge_sorted(struct merged_stack *stacks, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare_ids(&stacks[kept - 1], &stacks[i]))
			stacks[kept - 1].count += stacks[i].count;
		else
			stacks[kept++] = stacks[i];
	}
	return kept;
}

int merge_stacks(struct names *names, enum merge_walk walk, bool delimited, struct merged *ret,
		 struct fpl_err *err)
{
	const struct profile *profile = names->profile;
	size_t room = 1, at = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++)
		room += 1u + LABELS_MAX + profile->stacks[i].nr_kernel +
			(walk == MERGE_FP ? profile->stacks[i].nr_fp : profile->stacks[i].nr_user);

	AUTO_FREE uint32_t *ids = reallocarray(NULL, room, sizeof(*ids));
	AUTO_FREE struct merged_stack *stacks = calloc(profile->nr_stacks + 1, sizeof(*stacks));
	if (!ids || !stacks)
		return fpl_fail(err, -ENOMEM, "out of memory for %zu stacks", profile->nr_stacks);
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		struct merged_stack *stack = &stacks[i];

		stack->count = profile->stacks[i].count;
		stack->ids = ids + at;
		if (line_ids(names, &profile->stacks[i], walk, delimited, ids + at, &stack->nr))
			return fpl_fail(err, -ENOMEM, "out of memory for names");
		at += stack->nr;
	}
	qsort(stacks, profile->nr_stacks, sizeof(*stacks), compare_ids);
	size_t nr = merge_sorted(stacks, profile->nr_stacks);
	qsort_r(stacks, nr, sizeof(*stacks), compare_count, &names->strings);
	*ret = (struct merged){ .stacks = TAKE_PTR(stacks), .nr = nr, .ids = TAKE_PTR(ids) };
	return 0;
}
