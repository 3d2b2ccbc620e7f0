/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share of one user in common resources: at most half while others want some, so that no user's
 * programs take the room of all others. Root, and the user who runs fpless, may have all of it:
 * they could end the run anyway.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Is there a limit to what @uid may use? */
static inline bool share_is_limited(uint64_t uid)
{
	return uid && uid != geteuid();
}

/* The limit of @all for a limited user. */
static inline uint64_t share_of(uint64_t all)
{
	return all / 2;
}

/* Users that are told apart; all others are one. */
#define SHARE_OWNERS_MAX 1024u

/* Use by user. Zeroed: no use. */
struct share_book {
	struct {
		uint64_t uid, used;
	} owners[SHARE_OWNERS_MAX]; /* [nr] */
	size_t nr;
};

/* Cost of each: O(users that were ever noted). */
uint64_t share_used(const struct share_book *book, uint64_t uid);
void share_take(struct share_book *book, uint64_t uid, uint64_t amount);
void share_give_back(struct share_book *book, uint64_t uid, uint64_t amount);

/* The most that one has whose share is limited. */
uint64_t share_most_of_limited(const struct share_book *book);

/* May @uid take @amount more, out of @all for all users? */
bool share_allows(const struct share_book *book, uint64_t uid, uint64_t amount, uint64_t all);
