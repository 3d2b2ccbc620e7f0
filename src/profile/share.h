/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share of one owner (proc/owner.h) in common resources: at most half while others want some,
 * so that the programs of one do not take the room of all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/owner.h"

/* The limit of @all for a limited owner. */
static inline uint64_t share_of(uint64_t all)
{
	return all / 2;
}

/* Owners that are told apart; all others are one. */
#define SHARE_OWNERS_MAX 1024u

/* Use by owner. Zeroed: no use. */
struct share_book {
	struct {
		uint64_t owner, used;
	} owners[SHARE_OWNERS_MAX]; /* [nr] */
	size_t nr;
};

/* Cost of each: O(owners that were ever noted). */
uint64_t share_used(const struct share_book *book, uint64_t owner);
void share_take(struct share_book *book, uint64_t owner, uint64_t amount);
void share_give_back(struct share_book *book, uint64_t owner, uint64_t amount);

/* The most that one has whose share is limited. */
uint64_t share_most_of_limited(const struct share_book *book);

/* May @owner take @amount more, out of @all for all owners? */
bool share_allows(const struct share_book *book, uint64_t owner, uint64_t amount, uint64_t all);
