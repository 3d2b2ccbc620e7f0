/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/share.h"

/* The entry of @owner, or where it would be. */
static size_t place_of(const struct share_book *book, uint64_t owner)
{
	size_t i = 0;

	while (i < book->nr && book->owners[i].owner != owner)
		i++;
	return i < SHARE_OWNERS_MAX ? i : SHARE_OWNERS_MAX - 1;
}

uint64_t share_used(const struct share_book *book, uint64_t owner)
{
	return book->owners[place_of(book, owner)].used;
}

void share_take(struct share_book *book, uint64_t owner, uint64_t amount)
{
	size_t at = place_of(book, owner);

	if (at == book->nr)
		book->owners[book->nr++].owner = owner;
	book->owners[at].used += amount;
}

void share_give_back(struct share_book *book, uint64_t owner, uint64_t amount)
{
	book->owners[place_of(book, owner)].used -= amount;
}

uint64_t share_most_of_limited(const struct share_book *book)
{
	uint64_t most = 0;

	for (size_t i = 0; i < book->nr; i++) {
		if (book->owners[i].used > most && owner_is_limited(book->owners[i].owner))
			most = book->owners[i].used;
	}
	return most;
}

bool share_allows(const struct share_book *book, uint64_t owner, uint64_t amount, uint64_t all)
{
	return !owner_is_limited(owner) || share_used(book, owner) + amount <= share_of(all);
}
