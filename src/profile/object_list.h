/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of objects: an id, which frames name an object by, and a slot of the map `objects`,
 * which mappings name it by. A slot is given again at once: it says whose it is. An id is given
 * again only when all others have been given, so that a late frame names no other object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "profile/share.h"

struct object;

struct object_list {
	/* by id - 1, up to the highest id given so far; NULL: free; see object_list_at() */
	VECTOR(struct object *) by_id;
	uint32_t last_id;	      /* given last */
	uint32_t nr_ids;	      /* ids up to this one are given */
	VECTOR(struct object *) live; /* in no order; each borrowed */
	VECTOR(uint16_t) free_slots;  /* given back */
	uint32_t nr_slots, next_slot; /* slots from next_slot on were never given */
	struct share_book owners;     /* how many are charged to whom */
};

/* @nr_slots: slots 1 to @nr_slots - 1 are given; at most 65,536. */
void object_list_init(struct object_list *list, uint32_t nr_slots);
void object_list_fini(struct object_list *list);

/* Give @object an id, a slot and its place in the list. Errors: -ENOSPC no slot, or no id, is
 * left; -ENOMEM. Cost: O(1) until all ids have been given once. */
FPL_MUST_CHECK int object_list_add(struct object_list *list, struct object *object);

/* Take back what @object has got; it is not freed. Nothing may name its slot any more, nor its id
 * unless that is never to be given again: @keep_id. */
void object_list_remove(struct object_list *list, struct object *object, bool keep_id);

/* The object with this id, or NULL. */
struct object *object_list_at(const struct object_list *list, uint32_t id);
