/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow, of one type of entry:
 *
 *	VECTOR(struct range) ranges = { 0 };
 *
 *	if (vector_push(&ranges, (struct range){ from, to }))
 *		return -ENOMEM;
 *	for (size_t i = 0; i < ranges.nr; i++)
 *		use(&ranges.list[i]);
 *	vector_fini(&ranges);
 *
 * Pointers into list are valid until the next call that makes room. must_push() and must_reserve()
 *are for code that a lack of memory may end (base/alloc.h).
 */
#pragma once

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

/* list: owned [nr], of which room entries fit; all 0: empty. */
#define VECTOR(type)             \
	struct {                 \
		type *list;      \
		size_t nr, room; \
	}

/* Make room for @wanted entries in all. Returns 0 or -ENOMEM, when nothing has changed. Cost: O(1)
 * an entry, over all calls. */
#define vector_reserve(vector, wanted)                                                             \
	({                                                                                         \
		size_t wanted_room = (wanted);                                                     \
		wanted_room <= (vector)->room                                                      \
			? 0                                                                        \
			: array_reserve(&(vector)->list, sizeof(*(vector)->list), &(vector)->room, \
					wanted_room);                                              \
	})

/* Append an entry of the vector's type, which is copied. Returns 0 or -ENOMEM. */
#define vector_push(vector, ...)                                           \
	({                                                                 \
		__typeof__(*(vector)->list) pushed = __VA_ARGS__;          \
		int push_error = vector_reserve(vector, (vector)->nr + 1); \
		if (!push_error)                                           \
			(vector)->list[(vector)->nr++] = pushed;           \
		push_error;                                                \
	})

/* Give back the room behind the last entry; where that is not possible it stays. */
#define vector_trim(vector) \
	array_trim(&(vector)->list, sizeof(*(vector)->list), &(vector)->room, (vector)->nr)

#define must_reserve(vector, wanted) alloc_check(vector_reserve(vector, wanted))
#define must_push(vector, ...)	     alloc_check(vector_push(vector, __VA_ARGS__))

/* Bytes that the vector takes. */
#define vector_bytes(vector) ((vector)->room * sizeof(*(vector)->list))

/* Free the entries; the vector is empty then. What they own is the caller's. */
#define vector_fini(vector)                        \
	do {                                       \
		free((vector)->list);              \
		(vector)->list = NULL;             \
		(vector)->nr = (vector)->room = 0; \
	} while (0)
