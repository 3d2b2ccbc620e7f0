/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of one object that will be asked about, gathered first and named all at once, so
 * that its file is read once, or once per round; and the answers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/symbol_place.h"

/* Where the answer for an address is. */
struct place_known {
	uint64_t vaddr;
	uint32_t round, idx; /* rounds[round].places[idx] */
};

struct place_list {
	uint64_t *vaddrs; /* owned [nr]: to be asked */
	size_t nr, room;
	struct symbol_places *rounds; /* owned [nr_rounds] */
	size_t nr_rounds;
	struct place_known *known; /* owned [nr_known], ascending, each once */
	size_t nr_known;
};

/* It is empty, and may be used anew. */
void place_list_fini(struct place_list *list);

/* Have @vaddr asked in the next round. Errors: -ENOMEM. Cost: amortised O(log n). */
FPL_MUST_CHECK int place_list_add(struct place_list *list, uint64_t vaddr);
/* Hand those to be asked over to the caller, sorted: [*ret_nr], maybe none. */
void place_list_take(struct place_list *list, uint64_t **ret, size_t *ret_nr);

/*
 * Keep the answer for @vaddrs [@nr], as place_list_take() gave them; the answer is taken over, and
 * names that were handed out stay where they are. Errors: -ENOMEM: the answer is gone.
 * Cost: O(known + asked).
 */
FPL_MUST_CHECK int place_list_keep(struct place_list *list, const uint64_t *vaddrs, size_t nr,
				   struct symbol_places *answer);

/* What is inlined at @vaddr: how many of *ret, 0 where nothing is known. Cost: O(log n). */
uint32_t place_list_lines(const struct place_list *list, uint64_t vaddr,
			  const struct symbol_line **ret);

/* The answer for @vaddr, NULL where it was not asked. Cost: O(log n). */
const struct symbol_place *place_list_find(const struct place_list *list, uint64_t vaddr);
