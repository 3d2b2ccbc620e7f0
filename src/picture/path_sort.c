/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/path_sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/*
 * A merge sort that keeps what it learns: paths of one recording begin with the same hundred steps
 * more often than not, and no two paths need these compared again where both are known to share
 * them with the path that was put out last.
 */

/* Two runs on their way into one. */
struct runs {
	const struct sort_path *left, *left_end, *right, *right_end;
	uint32_t left_shared, right_shared; /* with what was put out last */
};

/* How many steps from @from on are of equal rank in both, @from included in the result. */
static uint32_t shared_from(const struct sort_path *a, const struct sort_path *b, uint32_t from,
			    const uint32_t *ranks)
{
	uint32_t end = a->nr < b->nr ? a->nr : b->nr;

	while (from < end &&
	       (a->steps[from] == b->steps[from] || ranks[a->steps[from]] == ranks[b->steps[from]]))
		from++;
	return from;
}

static struct sort_path take_left(struct runs *runs)
{
	struct sort_path ret = *runs->left++;

	ret.shared = runs->left_shared;
	runs->left_shared = runs->left < runs->left_end ? runs->left->shared : 0;
	return ret;
}

static struct sort_path take_right(struct runs *runs)
{
	struct sort_path ret = *runs->right++;

	ret.shared = runs->right_shared;
	runs->right_shared = runs->right < runs->right_end ? runs->right->shared : 0;
	return ret;
}

/*
 * The one that shares more with the last one put out, which is not above either, comes first; only
 * where both share as much the steps behind decide.
 */
static struct sort_path take_first(struct runs *runs, const uint32_t *ranks)
{
	const struct sort_path *a = runs->left, *b = runs->right;

	if (runs->left_shared > runs->right_shared)
		return take_left(runs);
	if (runs->left_shared < runs->right_shared)
		return take_right(runs);

	uint32_t shared = shared_from(a, b, runs->left_shared, ranks);
	bool left_first = shared == a->nr ||
			  (shared < b->nr && ranks[a->steps[shared]] < ranks[b->steps[shared]]);
	struct sort_path ret = left_first ? take_left(runs) : take_right(runs);

	*(left_first ? &runs->right_shared : &runs->left_shared) = shared;
	return ret;
}

static void merge(struct runs *runs, struct sort_path *to, const uint32_t *ranks)
{
	while (runs->left < runs->left_end && runs->right < runs->right_end)
		*to++ = take_first(runs, ranks);
	while (runs->left < runs->left_end)
		*to++ = take_left(runs);
	while (runs->right < runs->right_end)
		*to++ = take_right(runs);
}

void path_sort(struct sort_path *paths, size_t nr, const uint32_t *ranks)
{
	AUTO_FREE struct sort_path *other = must_reallocarray(NULL, nr, sizeof(*other));
	struct sort_path *from = paths, *to = other;

	for (size_t i = 0; i < nr; i++)
		paths[i].shared = 0;
	for (size_t width = 1; width < nr; width *= 2) {
		for (size_t at = 0; at < nr; at += 2 * width) {
			size_t middle = nr - at < width ? nr : at + width;
			size_t end = nr - at < 2 * width ? nr : at + 2 * width;
			struct runs runs = {
				.left = from + at,
				.left_end = from + middle,
				.right = from + middle,
				.right_end = from + end,
			};

			merge(&runs, to + at, ranks);
		}
		struct sort_path *swap = from;

		from = to;
		to = swap;
	}
	if (from != paths)
		memcpy(paths, from, nr * sizeof(*paths));
}
