/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of one object that will be asked about, gathered first and named all at once: a
 * file that somebody else reads (symbolize/symbol_source.h) is read once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/symbol_source.h"

/* One that was asked later. */
struct place_extra {
	uint64_t vaddr;
	struct symbol_places answer; /* of one */
};

struct place_list {
	uint64_t *vaddrs; /* owned [nr]; ascending and each once after place_list_sort() */
	size_t nr, room;
	struct symbol_places answer; /* of the first nr_answered of vaddrs */
	size_t nr_answered;
	struct place_extra *extra; /* owned [nr_extra], ascending */
	size_t nr_extra;
};

void place_list_fini(struct place_list *list);

/* Add @vaddr, before the list is answered. Errors: -ENOMEM. Cost: amortised O(log n). */
FPL_MUST_CHECK int place_list_add(struct place_list *list, uint64_t vaddr);
void place_list_sort(struct place_list *list);

/*
 * Keep the answer for one more address, which is taken over; names that were handed out stay where
 * they are. Returns its place, NULL where memory ran out. Cost: O(those kept).
 */
const struct symbol_place *place_list_keep(struct place_list *list, uint64_t vaddr,
					   struct symbol_places *answer);

/* The answer for @vaddr, NULL where it was not asked. Cost: O(log n). */
const struct symbol_place *place_list_find(const struct place_list *list, uint64_t vaddr);
