/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal texts have equal ids, so that stacks compare as arrays of integers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct strings_block;

/*
 * Cost of a text: 8 bytes beside its own, and 10 or less in the hash table, which is no id_table
 * for that: one takes 16 to 32.
 */
struct strings {
	const struct strings *base;   /* borrowed: texts below first are in it; NULL: none */
	const char **texts;	      /* owned [nr - first]: each in a block */
	struct strings_block *blocks; /* owned: the one in use first */
	/* Owned [nr_slots], hash table: id + 1, 0 is free; and 8 bits of the hash. */
	uint32_t *ids;
	uint8_t *tags;
	size_t nr, room;
	uint32_t first;
	size_t nr_slots; /* power of two; 0: the table is not made yet */
	size_t bytes;	 /* of own texts, NULs included */
};

void strings_init(struct strings *strings);

/*
 * Strings that have the texts of @base with the ids they have there, without a copy. @base has no
 * base, outlives @ret, and what is added to it later is not in @ret.
 */
void strings_init_over(struct strings *ret, const struct strings *base);
void strings_fini(struct strings *strings);

/* The id of @text, copied at first sight. Errors: -ENOMEM. Cost: O(length), and once the sum of all
 * lengths if the table was dropped. */
FPL_MUST_CHECK int strings_intern(struct strings *strings, const char *text, uint32_t *ret);

/* The same where a lack of memory ends the process (base/alloc.h). */
uint32_t must_strings_intern(struct strings *strings, const char *text);

/* Drop what finds texts: the next strings_intern() makes it anew. */
void strings_drop_table(struct strings *strings);

/* Memory of its own. Cost: O(1). */
size_t strings_memory(const struct strings *strings);

/* Owned by @strings or its base, valid until strings_fini. */
static inline const char *strings_text(const struct strings *strings, uint32_t id)
{
	return id < strings->first ? strings->base->texts[id] : strings->texts[id - strings->first];
}
