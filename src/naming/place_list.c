/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/place_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void place_list_fini(struct place_list *list)
{
	free(list->vaddrs);
	for (size_t i = 0; i < list->nr_rounds; i++) {
		symbol_places_fini(&list->rounds[i]);
	}
	free(list->rounds);
	free(list->known);
	*list = (struct place_list){ .nr = 0 };
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Those to be asked are ascending and each once then. */
static void sort(struct place_list *list)
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
		sort(list);
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

void place_list_take(struct place_list *list, uint64_t **ret, size_t *ret_nr)
{
	sort(list);
	*ret = list->vaddrs;
	*ret_nr = list->nr;
	list->vaddrs = NULL;
	list->nr = list->room = 0;
}

/* Both lists ascend; an address that was known keeps the answer it had. Returns how many there are.
 */
static size_t merge(const struct place_list *list, const uint64_t *vaddrs, size_t nr_vaddrs,
		    struct place_known *to)
{
	uint32_t round = (uint32_t)list->nr_rounds;
	size_t nr = 0, old = 0;

	for (size_t i = 0; i < nr_vaddrs; i++) {
		while (old < list->nr_known && list->known[old].vaddr < vaddrs[i])
			to[nr++] = list->known[old++];
		if (old < list->nr_known && list->known[old].vaddr == vaddrs[i])
			continue;
		to[nr++] = (struct place_known){ vaddrs[i], round, (uint32_t)i };
	}
	while (old < list->nr_known)
		to[nr++] = list->known[old++];
	return nr;
}

int place_list_keep(struct place_list *list, const uint64_t *vaddrs, size_t nr,
		    struct symbol_places *answer)
{
	struct symbol_places *rounds =
		reallocarray(list->rounds, list->nr_rounds + 1, sizeof(*rounds));
	struct place_known *known = calloc(list->nr_known + nr + 1, sizeof(*known));

	if (rounds)
		list->rounds = rounds;
	if (!rounds || !known) {
		free(known);
		symbol_places_fini(answer);
		return -ENOMEM;
	}
	list->nr_known = merge(list, vaddrs, nr, known);
	free(list->known);
	list->known = known;
	list->rounds[list->nr_rounds++] = *answer;
	return 0;
}

static int compare_known(const void *vaddr, const void *known)
{
	return compare(vaddr, &((const struct place_known *)known)->vaddr);
}

static const struct place_known *find(const struct place_list *list, uint64_t vaddr)
{
	return list->nr_known ? bsearch(&vaddr, list->known, list->nr_known, sizeof(*list->known),
					compare_known)
			      : NULL;
}

uint32_t place_list_lines(const struct place_list *list, uint64_t vaddr,
			  const struct symbol_line **ret)
{
	const struct place_known *found = find(list, vaddr);
	const struct symbol_chains *chains = found ? &list->rounds[found->round].chains : NULL;

	if (!chains || !chains->chains)
		return 0;
	*ret = chains->lines + chains->chains[found->idx].first;
	return chains->chains[found->idx].nr;
}

const struct symbol_place *place_list_find(const struct place_list *list, uint64_t vaddr)
{
	const struct place_known *found = find(list, vaddr);

	return found ? &list->rounds[found->round].places[found->idx] : NULL;
}
