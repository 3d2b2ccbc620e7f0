/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal texts have equal ids, so that stacks compare as arrays of integers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct strings {
	char **texts;  /* owned [nr], each owned */
	uint32_t *ids; /* owned [nr_slots], hash table: id + 1, 0 is free */
	size_t nr, room;
	size_t nr_slots; /* power of two */
	size_t bytes;	 /* of the texts, NULs included */
};

void strings_init(struct strings *strings);
void strings_fini(struct strings *strings);

/* The id of @text, copied at first sight. Errors: -ENOMEM. Cost: O(length). */
FPL_MUST_CHECK int strings_intern(struct strings *strings, const char *text, uint32_t *ret);

/* Owned by @strings, valid until strings_fini. */
static inline const char *strings_text(const struct strings *strings, uint32_t id)
{
	return strings->texts[id];
}
