/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/eviction.h"

#include <stdbool.h>

#include "profile/share.h"

/* In one of the last two looks. */
static bool is_lately_used(const struct eviction *eviction, const struct object *object)
{
	return object->table.used_look && object->table.used_look + 2 > eviction->look;
}

static bool is_mapped(const struct eviction *eviction, const struct object *object)
{
	return object->round == eviction->round;
}

/* Bytes of tables of files that are charged to @owner. */
static uint64_t bytes_of(const struct eviction *eviction, uint64_t owner)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < catalog_nr_live(eviction->catalog); i++) {
		const struct object *object = catalog_live(eviction->catalog, i);

		if (table_state_is_placed(&object->table) && object->owner == owner)
			bytes += object->table.pool_size;
	}
	return bytes;
}

/* Find the owner of more than half of all bytes, if any: the candidate left when each byte of one
 * owner cancels a byte of another. */
static uint64_t most_frequent_owner(const struct eviction *eviction)
{
	uint64_t owner = 0, bytes = 0;

	for (size_t i = 0; i < catalog_nr_live(eviction->catalog); i++) {
		const struct object *object = catalog_live(eviction->catalog, i);

		if (!table_state_is_placed(&object->table))
			continue;
		if (object->owner == owner) {
			bytes += object->table.pool_size;
		} else if (bytes >= object->table.pool_size) {
			bytes -= object->table.pool_size;
		} else {
			owner = object->owner;
			bytes = object->table.pool_size - bytes;
		}
	}
	return owner;
}

bool eviction_is_beyond_share(const struct eviction *eviction)
{
	uint64_t owner = eviction->newcomer->owner;

	return owner_is_limited(owner) &&
	       bytes_of(eviction, owner) + eviction->bytes > share_of(eviction->max_bytes);
}

/* The owner whose tables give way first. */
struct shares {
	bool newcomer_is_beyond;
	bool has_heavy; /* another owner has more than its share */
	uint64_t heavy;
};

static struct shares look_at_shares(const struct eviction *eviction)
{
	struct shares shares = { .newcomer_is_beyond = eviction_is_beyond_share(eviction) };
	uint64_t owner = most_frequent_owner(eviction);

	shares.heavy = owner;
	shares.has_heavy = owner_is_limited(owner) && owner != eviction->newcomer->owner &&
			   bytes_of(eviction, owner) > share_of(eviction->max_bytes);
	return shares;
}

static bool is_heavy(const struct shares *shares, const struct object *object)
{
	return shares->has_heavy && object->owner == shares->heavy;
}

/* Does @a go before @b? */
static bool goes_before(const struct eviction *eviction, const struct shares *shares,
			const struct object *a, const struct object *b)
{
	bool heavy_a = is_heavy(shares, a), heavy_b = is_heavy(shares, b);
	bool lately_a = is_lately_used(eviction, a), lately_b = is_lately_used(eviction, b);
	bool mapped_a = is_mapped(eviction, a), mapped_b = is_mapped(eviction, b);

	if (heavy_a != heavy_b)
		return heavy_a;
	if (lately_a != lately_b)
		return lately_b;
	if (mapped_a != mapped_b)
		return mapped_b;
	if (a->table.used_look != b->table.used_look)
		return a->table.used_look < b->table.used_look;
	return a->table.used < b->table.used;
}

static bool may_go(const struct eviction *eviction, const struct shares *shares,
		   const struct object *object)
{
	if (!table_state_is_placed(&object->table) || object->table.is_chosen ||
	    object == eviction->newcomer)
		return false;
	if (!is_mapped(eviction, object) || is_heavy(shares, object))
		return true;
	if (shares->newcomer_is_beyond && object->owner != eviction->newcomer->owner)
		return false;
	if (eviction->now_ns < object->table.placed_ns + EVICTION_STAY_NS)
		return false;
	return !is_lately_used(eviction, object) ||
	       eviction->newcomer->table.missed > 2 * (eviction->spent + object->table.used);
}

struct object *eviction_next(struct eviction *eviction)
{
	const struct shares shares = look_at_shares(eviction);
	struct object *first = NULL;

	for (size_t i = 0; i < catalog_nr_live(eviction->catalog); i++) {
		struct object *object = catalog_live(eviction->catalog, i);

		if (may_go(eviction, &shares, object) &&
		    (!first || goes_before(eviction, &shares, object, first)))
			first = object;
	}
	if (first && !is_heavy(&shares, first))
		eviction->spent += first->table.used;
	return first;
}
