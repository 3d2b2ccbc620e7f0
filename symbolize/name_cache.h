/* SPDX-License-Identifier: Apache-2.0 */
/* Names by number (symbol index, address): each is read and demangled once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_cache_slot {
	uint64_t key;
	char *name; /* owned; NULL: known to have none */
	bool used;
};

struct name_cache {
	struct name_cache_slot *slots; /* owned [nr_slots], a power of two, at most half used */
	size_t nr_slots, nr;
};

void name_cache_fini(struct name_cache *cache);

/* True when @key is known; *ret is its name then, owned by the cache. */
bool name_cache_find(const struct name_cache *cache, uint64_t key, const char **ret);

/*
 * Add @name (may be NULL) for @key, which is not in the cache yet. Takes @name over, also on
 * failure. Returns it, owned by the cache, or NULL when memory ran out.
 */
const char *name_cache_add(struct name_cache *cache, uint64_t key, char *name);
