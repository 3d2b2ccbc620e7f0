/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/refusals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static struct profile_owner *entry_of(struct profile_owner *owners, size_t *nr, uint64_t owner)
{
	size_t i = 0;

	while (i < *nr && owners[i].owner != owner)
		i++;
	if (i == *nr)
		owners[(*nr)++] = (struct profile_owner){ owner, .cgroup = owner_cgroup(owner) };
	return &owners[i];
}

static uint64_t all_of(const struct profile_owner *owner)
{
	uint64_t all = 0;

	for (size_t i = 0; i < PROFILE_LIMIT_COUNT; i++)
		all += owner->refused[i];
	return all;
}

static int compare_refused(const void *left, const void *right)
{
	const struct profile_owner *a = left, *b = right;
	uint64_t all_a = all_of(a), all_b = all_of(b);

	if (all_a != all_b)
		return all_a > all_b ? -1 : 1;
	return (a->owner > b->owner) - (a->owner < b->owner);
}

int refusals_sum(const struct share_book *const books[PROFILE_LIMIT_COUNT], struct profile *profile)
{
	AUTO_FREE struct profile_owner *owners =
		calloc(PROFILE_LIMIT_COUNT * (size_t)SHARE_OWNERS_MAX, sizeof(*owners));
	size_t nr = 0;

	if (!owners)
		return -ENOMEM;
	for (size_t limit = 0; limit < PROFILE_LIMIT_COUNT; limit++) {
		for (size_t i = 0; i < books[limit]->nr; i++) {
			uint64_t owner = books[limit]->owners[i].owner;
			uint64_t nr_refused = books[limit]->owners[i].used;

			if (i == SHARE_OWNERS_MAX - 1)
				owner = OWNER_UNKNOWN;
			entry_of(owners, &nr, owner)->refused[limit] += nr_refused;
			profile->refused[limit] += nr_refused;
		}
	}
	qsort(owners, nr, sizeof(*owners), compare_refused);
	profile->nr_owners = nr < PROFILE_OWNERS_MAX ? nr : PROFILE_OWNERS_MAX;
	for (size_t i = 0; i < profile->nr_owners; i++)
		profile->owners[i] = owners[i];
	return 0;
}
