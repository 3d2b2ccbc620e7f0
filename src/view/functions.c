/* SPDX-License-Identifier: Apache-2.0 */
#include "view/functions.h"

#include <errno.h>

void functions_settle(struct functions *functions)
{
	vector_fini(&functions->firsts);
	id_table_fini(&functions->others);
}

void functions_fini(struct functions *functions)
{
	functions_settle(functions);
	vector_fini(functions);
}

static bool are_equal(const struct functions *functions, uint32_t index,
		      const struct shown_function *b)
{
	const struct shown_function *a = &functions->list[index];

	return a->text == b->text &&
	       (functions->by == FUNCTIONS_BY_TEXT ||
		(a->kind == b->kind && a->origin == b->origin && a->of_waker == b->of_waker)) &&
	       (functions->by != FUNCTIONS_BY_PLACE || a->place == b->place);
}

/* Add @key to the functions whose text has others. */
static int add_other(struct functions *functions, const struct shown_function *key, uint32_t *ret)
{
	const uint32_t parts[] = {
		key->text,     functions->by == FUNCTIONS_BY_PLACE ? key->place : 0,
		key->kind,     key->origin,
		key->of_waker,
	};
	uint64_t hash = id_table_hash(0, parts, sizeof(parts));
	uint32_t found = ID_TABLE_FIND(&functions->others, hash, i, are_equal(functions, i, key));

	if (found != ID_TABLE_NONE) {
		*ret = found;
		return 0;
	}
	if (vector_reserve(functions, functions->nr + 1) ||
	    id_table_add(&functions->others, hash, (uint32_t)functions->nr))
		return -ENOMEM;
	*ret = (uint32_t)functions->nr;
	return vector_push(functions, *key);
}

int functions_add(struct functions *functions, const struct shown_function *key, uint32_t *ret)
{
	while (key->text >= functions->firsts.nr)
		if (vector_push(&functions->firsts, 0))
			return -ENOMEM;

	uint32_t *first = &functions->firsts.list[key->text];

	if (*first && are_equal(functions, *first - 1, key)) {
		*ret = *first - 1;
		return 0;
	}
	/* an index + 1 has to fit 32 bits */
	if (functions->nr >= UINT32_MAX - 1)
		return -ENOMEM;
	if (*first)
		return add_other(functions, key, ret);
	if (vector_push(functions, *key))
		return -ENOMEM;
	*first = (uint32_t)functions->nr;
	*ret = *first - 1;
	return 0;
}
