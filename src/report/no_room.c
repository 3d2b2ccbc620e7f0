/* SPDX-License-Identifier: Apache-2.0 */
#include "report/no_room.h"

#include <inttypes.h>

#include "base/user_name.h"

enum { USERS_SHOWN = 3 };

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

void no_room_write(FILE *to, const struct profile *profile)
{
	uint64_t rest[PROFILE_LIMIT_COUNT], sum = 0;
	char user[USER_NAME_SIZE];
	size_t i;

	for (size_t limit = 0; limit < PROFILE_LIMIT_COUNT; limit++)
		rest[limit] = profile->refused[limit];
	for (i = 0; i < profile->nr_owners && i < USERS_SHOWN; i++) {
		const struct profile_owner *owner = &profile->owners[i];

		fputs(i ? "               " : "  no room      ", to);
		if (owner->uid == PROFILE_UID_UNKNOWN) {
			fputs("users not known: ", to);
		} else {
			user_name(owner->uid, user, sizeof(user));
			fprintf(to, "user %s: ", user);
		}
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
