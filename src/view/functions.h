/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that readers tell apart, each once: what has one name in one place. Views of one
 * recording, pictures, differences and the live view number theirs with this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"

enum function_kind {
	FUNCTION_LABEL, /* no code: the task, a CPU, "-" between user and kernel frames */
	FUNCTION_USER,
	FUNCTION_INLINED, /* in a user frame; what is inlined in a kernel frame is FUNCTION_KERNEL
			   */
	FUNCTION_KERNEL,
};

struct shown_function {
	uint32_t text;	/* id in strings of the owner */
	uint32_t place; /* the object's index or a text, as the owner says; 0: not known */
	uint8_t kind;	/* enum function_kind */
	uint8_t origin; /* enum fpl_origin; the same for all where the owner shows none */
	bool of_waker;	/* on the stack of who ended a wait, where the owner tells those apart */
};

/* Two functions differ by: */
enum functions_by {
	FUNCTIONS_BY_PLACE, /* all of it */
	FUNCTIONS_BY_NAME,  /* all but the place */
	FUNCTIONS_BY_TEXT,  /* the text alone */
};

struct functions {
	struct shown_function *list; /* a vector: functions in the order of their first use */
	size_t nr, room;
	enum functions_by by; /* set it before the first functions_add() */

	/*
	 * private: 1 + the first function of each text, 0: none. Most texts have one function, so
	 * this finds nearly all, in half the memory of a hash table; others has the rest.
	 */
	VECTOR(uint32_t) firsts;
	struct id_table others;
};

/*
 * The index in *ret of the function like @key, which is added at first sight: the first key of
 * equals stays. Errors: -ENOMEM, when nothing was added. Cost: O(1).
 */
FPL_MUST_CHECK int functions_add(struct functions *functions, const struct shown_function *key,
				 uint32_t *ret);

static inline uint32_t must_functions_add(struct functions *functions,
					  const struct shown_function *key)
{
	uint32_t index;

	alloc_check(functions_add(functions, key, &index));
	return index;
}

/* All is added: drop what finds equals. */
void functions_settle(struct functions *functions);
void functions_fini(struct functions *functions);
