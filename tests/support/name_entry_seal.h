/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of names as an attacker writes them: with a valid digest. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "obj/blake2b.h"
#include "naming/name_entry.h"

#define NAME_HEADER_SIZE   (120u + sizeof(struct name_search))
#define NAME_HEADER_DIGEST (104u + sizeof(struct name_search))

/* Offsets of the parts of an entry's bytes. */
enum {
	NAME_AT_FORMAT = 8,
	NAME_AT_VERSION = 16,
	NAME_AT_KEY = 48,
	NAME_AT_SEARCH = 80,
	NAME_AT_NR = NAME_AT_SEARCH + sizeof(struct name_search),
	NAME_AT_TEXT_SIZE = NAME_AT_NR + 8,
	NAME_AT_NO_LINES = NAME_AT_NR + 16,
};

static inline void name_entry_seal(uint8_t *bytes, size_t size)
{
	struct blake2b hash;

	blake2b_init(&hash, NAME_HEADER_SIZE - NAME_HEADER_DIGEST);
	blake2b_update(&hash, bytes, NAME_HEADER_DIGEST);
	blake2b_update(&hash, bytes + NAME_HEADER_SIZE, size - NAME_HEADER_SIZE);
	blake2b_final(&hash, bytes + NAME_HEADER_DIGEST);
}
