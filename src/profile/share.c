/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/share.h"

/* The entry of @uid, or where it would be. */
static size_t place_of(const struct share_book *book, uint64_t uid)
{
	size_t i = 0;

	while (i < book->nr && book->owners[i].uid != uid)
		i++;
	return i < SHARE_OWNERS_MAX ? i : SHARE_OWNERS_MAX - 1;
}

uint64_t share_used(const struct share_book *book, uint64_t uid)
{
	return book->owners[place_of(book, uid)].used;
}

void share_take(struct share_book *book, uint64_t uid, uint64_t amount)
{
	size_t at = place_of(book, uid);

	if (at == book->nr)
		book->owners[book->nr++].uid = uid;
	book->owners[at].used += amount;
}

void share_give_back(struct share_book *book, uint64_t uid, uint64_t amount)
{
	book->owners[place_of(book, uid)].used -= amount;
}

uint64_t share_most_of_limited(const struct share_book *book)
{
	uint64_t most = 0;

	for (size_t i = 0; i < book->nr; i++) {
		if (book->owners[i].used > most && share_is_limited(book->owners[i].uid))
			most = book->owners[i].used;
	}
	return most;
}

bool share_allows(const struct share_book *book, uint64_t uid, uint64_t amount, uint64_t all)
{
	return !share_is_limited(uid) || share_used(book, uid) + amount <= share_of(all);
}
