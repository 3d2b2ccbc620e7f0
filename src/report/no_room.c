/* SPDX-License-Identifier: Apache-2.0 */
#include "report/no_room.h"

#include <inttypes.h>

#include "base/text.h"
#include "base/user_name.h"

enum { OWNERS_SHOWN = 3 };

static const struct {
	const char *key, *what, *remedy;
} limits[PROFILE_LIMIT_COUNT] = {
#define X(name, key, what, remedy) [PROFILE_LIMIT_##name] = { key, what, remedy },
	PROFILE_LIMIT_LIST(X)
#undef X
};

const char *no_room_key(enum profile_limit limit)
{
	return limits[limit].key;
}

static void write_refused(FILE *to, const uint64_t refused[PROFILE_LIMIT_COUNT])
{
	const char *separator = "";

	for (size_t i = 0; i < PROFILE_LIMIT_COUNT; i++) {
		if (!refused[i])
			continue;
		fprintf(to, "%s%" PRIu64 " %s (%s)", separator, refused[i], limits[i].what,
			limits[i].remedy);
		separator = ", ";
	}
	putc('\n', to);
}

static void write_owner(FILE *to, const struct profile_owner *owner)
{
	char cgroup[OWNER_TEXT_SIZE], user[USER_NAME_SIZE];

	if (owner->owner == OWNER_UNKNOWN) {
		fputs("users not known: ", to);
	} else if (owner->cgroup) {
		text_escape(cgroup, sizeof(cgroup), owner->cgroup, "");
		fprintf(to, "cgroup %s: ", cgroup);
	} else {
		user_name(owner->owner, user, sizeof(user));
		fprintf(to, "user %s: ", user);
	}
}

void no_room_write(FILE *to, const struct profile *profile)
{
	uint64_t rest[PROFILE_LIMIT_COUNT], sum = 0;
	size_t i;

	for (size_t limit = 0; limit < PROFILE_LIMIT_COUNT; limit++)
		rest[limit] = profile->refused[limit];
	for (i = 0; i < profile->nr_owners && i < OWNERS_SHOWN; i++) {
		const struct profile_owner *owner = &profile->owners[i];

		fputs(i ? "               " : "  no room      ", to);
		write_owner(to, owner);
		write_refused(to, owner->refused);
		for (size_t limit = 0; limit < PROFILE_LIMIT_COUNT; limit++)
			rest[limit] -= owner->refused[limit];
	}
	for (size_t limit = 0; limit < PROFILE_LIMIT_COUNT; limit++)
		sum += rest[limit];
	if (sum) {
		fputs("               other users: ", to);
		write_refused(to, rest);
	}
}
