/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/eviction.h"

#include <stdbool.h>

/* In one of the last two looks. */
static bool is_lately_used(const struct eviction *eviction, const struct object *object)
{
	return object->used_look && object->used_look + 2 > eviction->look;
}

static bool is_mapped(const struct eviction *eviction, const struct object *object)
{
	return object->round == eviction->round;
}

/* Does @a go before @b? */
static bool goes_before(const struct eviction *eviction, const struct object *a,
			const struct object *b)
{
	bool lately_a = is_lately_used(eviction, a), lately_b = is_lately_used(eviction, b);
	bool mapped_a = is_mapped(eviction, a), mapped_b = is_mapped(eviction, b);

	if (lately_a != lately_b)
		return lately_b;
	if (mapped_a != mapped_b)
		return mapped_b;
	if (a->used_look != b->used_look)
		return a->used_look < b->used_look;
	return a->used < b->used;
}

static bool may_go(const struct eviction *eviction, const struct object *object)
{
	if (!object_has_table(object) || object == eviction->newcomer)
		return false;
	if (!is_mapped(eviction, object))
		return true;
	if (eviction->now_ns < object->placed_ns + EVICTION_STAY_NS)
		return false;
	return !is_lately_used(eviction, object) ||
	       eviction->newcomer->missed > 2 * (eviction->spent + object->used);
}

struct object *eviction_next(struct eviction *eviction)
{
	struct object *first = NULL;

	for (size_t i = 0; i < catalog_nr_live(eviction->catalog); i++) {
		struct object *object = catalog_live(eviction->catalog, i);

		if (may_go(eviction, object) && (!first || goes_before(eviction, object, first)))
			first = object;
	}
	if (first)
		eviction->spent += first->used;
	return first;
}
