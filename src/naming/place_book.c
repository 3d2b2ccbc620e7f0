/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/place_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void place_book_fini(struct place_book *book)
{
	free(book->list);
	id_table_fini(&book->table);
	for (size_t i = 0; i < book->nr_answers; i++)
		symbol_places_fini(&book->answers[i]);
	free(book->answers);
	*book = (struct place_book){ .nr = 0 };
}

static uint64_t hash_of(uint32_t object, uint64_t vaddr)
{
	return id_table_hash(object, &vaddr, sizeof(vaddr));
}

struct key {
	uint64_t vaddr;
	uint32_t object;
};

/* id_table_find() */
static bool has_key(const void *ctx, uint32_t index, const void *key)
{
	const struct place *place = &((const struct place_book *)ctx)->list[index];
	const struct key *wanted = key;

	return place->vaddr == wanted->vaddr && place->object == wanted->object;
}

static uint32_t find(const struct place_book *book, uint32_t object, uint64_t vaddr)
{
	const struct key key = { vaddr, object };

	return id_table_find(&book->table, hash_of(object, vaddr), has_key, book, &key);
}

const struct place *place_book_find(const struct place_book *book, uint32_t object, uint64_t vaddr)
{
	uint32_t index = find(book, object, vaddr);

	return index == ID_TABLE_NONE ? NULL : &book->list[index];
}

int place_book_need(struct place_book *book, uint32_t object, uint64_t vaddr, uint32_t *ret)
{
	*ret = find(book, object, vaddr);
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = (uint32_t)book->nr;
	if (array_reserve(&book->list, sizeof(*book->list), &book->room, book->nr + 1) ||
	    id_table_add(&book->table, hash_of(object, vaddr), *ret))
		return -ENOMEM;
	book->list[book->nr++] = (struct place){ .vaddr = vaddr, .object = object };
	return 0;
}

int place_book_keep(struct place_book *book, const uint32_t *places, size_t nr,
		    struct symbol_places *answer)
{
	const struct symbol_chains *chains = &answer->chains;

	if (array_reserve(&book->answers, sizeof(*book->answers), &book->answers_room,
			  book->nr_answers + 1)) {
		symbol_places_fini(answer);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_place *said = &answer->places[i];
		struct place *place = &book->list[places[i]];

		place->start = said->start;
		place->name = said->name && *said->name ? said->name : NULL;
		place->is_answered = true;
		if (!chains->chains)
			continue;
		place->lines = chains->lines + chains->chains[i].first;
		place->nr_lines = (uint16_t)chains->chains[i].nr;
	}
	free(answer->places);
	answer->places = NULL;
	free(answer->chains.chains);
	answer->chains.chains = NULL;
	book->answers[book->nr_answers++] = *answer;
	return 0;
}
