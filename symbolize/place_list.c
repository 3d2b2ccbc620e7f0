/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/place_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void place_list_fini(struct place_list *list)
{
	free(list->vaddrs);
	free(list->answer.places);
	free(list->answer.text);
	for (size_t i = 0; i < list->nr_extra; i++) {
		free(list->extra[i].answer.places);
		free(list->extra[i].answer.text);
	}
	free(list->extra);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void place_list_sort(struct place_list *list)
{
	size_t nr = 0;

	if (!list->nr)
		return;
	qsort(list->vaddrs, list->nr, sizeof(*list->vaddrs), compare);
	for (size_t i = 0; i < list->nr; i++) {
		if (!nr || list->vaddrs[nr - 1] != list->vaddrs[i])
			list->vaddrs[nr++] = list->vaddrs[i];
	}
	list->nr = nr;
}

int place_list_add(struct place_list *list, uint64_t vaddr)
{
	/* stacks share most of their frames: repeats go before memory comes */
	bool is_full = list->nr == list->room;

	if (is_full)
		place_list_sort(list);
	if (is_full && 2 * list->nr >= list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		uint64_t *vaddrs = reallocarray(list->vaddrs, room, sizeof(*vaddrs));

		if (!vaddrs && list->nr == list->room)
			return -ENOMEM;
		if (vaddrs) {
			list->vaddrs = vaddrs;
			list->room = room;
		}
	}
	list->vaddrs[list->nr++] = vaddr;
	return 0;
}

/* Index of the first one kept that is not below @vaddr. */
static size_t extra_at(const struct place_list *list, uint64_t vaddr)
{
	size_t lo = 0, hi = list->nr_extra;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (list->extra[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct symbol_place *place_list_keep(struct place_list *list, uint64_t vaddr,
					   struct symbol_places *answer)
{
	size_t at = extra_at(list, vaddr);
	struct place_extra *extra = reallocarray(list->extra, list->nr_extra + 1, sizeof(*extra));

	if (!extra) {
		free(answer->places);
		free(answer->text);
		return NULL;
	}
	memmove(extra + at + 1, extra + at, (list->nr_extra - at) * sizeof(*extra));
	extra[at] = (struct place_extra){ .vaddr = vaddr, .answer = *answer };
	list->extra = extra;
	list->nr_extra++;
	return answer->places;
}

const struct symbol_place *place_list_find(const struct place_list *list, uint64_t vaddr)
{
	const uint64_t *found = NULL;
	size_t at = extra_at(list, vaddr);

	if (at < list->nr_extra && list->extra[at].vaddr == vaddr)
		return list->extra[at].answer.places;
	if (list->nr_answered)
		found = bsearch(&vaddr, list->vaddrs, list->nr_answered, sizeof(*list->vaddrs),
				compare);
	return found ? &list->answer.places[found - list->vaddrs] : NULL;
}
