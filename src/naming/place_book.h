/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers addresses in objects: those that will be asked about, and what was answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "symbolize/symbol_place.h"

/* An address. */
struct place {
	uint64_t vaddr;
	uint64_t start;			 /* symbol_place.start */
	const char *name;		 /* owned by an answer; NULL: it has none */
	const struct symbol_line *lines; /* [nr_lines], owned by an answer */
	uint32_t object;
	uint16_t nr_lines;
	bool is_answered; /* else all of the answer is 0 */
};

struct place_book {
	struct place *list; /* owned [nr] */
	size_t nr, room;
	struct id_table table;	       /* of list, by object and address */
	struct symbol_places *answers; /* owned [nr_answers]: their texts and lines */
	size_t nr_answers, answers_room;
};

/* Zeroed: nothing is known. It is so again after place_book_fini(). */
void place_book_fini(struct place_book *book);

/* The place of @vaddr in @object, valid until the next one is added; NULL: it was never needed. */
const struct place *place_book_find(const struct place_book *book, uint32_t object, uint64_t vaddr);

/* Find the index of that place. A missing place is added, not answered yet. Errors: -ENOMEM. */
FPL_MUST_CHECK int place_book_need(struct place_book *book, uint32_t object, uint64_t vaddr,
				   uint32_t *ret);

/*
 * Keep what @answer says of the places with the indexes @places [@nr]; it is taken over, in any
 * case. Errors: -ENOMEM: they are not answered.
 */
FPL_MUST_CHECK int place_book_keep(struct place_book *book, const uint32_t *places, size_t nr,
				   struct symbol_places *answer);
