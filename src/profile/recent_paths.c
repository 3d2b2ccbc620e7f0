/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recent_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "profile/object.h"

static uint64_t hash_of(const char *path)
{
	return id_table_hash(0, path, strlen(path));
}

/* The first place of the set of @hash. */
static size_t first_of(uint64_t hash)
{
	return hash % (RECENT_PATHS / RECENT_PATHS_SET) * RECENT_PATHS_SET;
}

static bool is_of(const struct recent_path *place, uint64_t hash, const char *path)
{
	return place->path && place->hash == hash && strcmp(place->path, path) == 0;
}

struct object *recent_paths_find(const struct recent_paths *recent, const struct file_hint *hint,
				 uint64_t now_ns)
{
	uint64_t hash = hash_of(hint->path);
	const struct recent_path *at = &recent->places[first_of(hash)],
				 *end = at + RECENT_PATHS_SET;

	while (at < end && !is_of(at, hash, hint->path))
		at++;
	if (at == end || now_ns - at->time_ns >= RECENT_PATHS_NS ||
	    !file_hint_has_build_id(hint, at->object->elf))
		return NULL;
	return at->object;
}

void recent_paths_note(struct recent_paths *recent, const struct file_hint *hint,
		       struct object *object, uint64_t now_ns)
{
	uint64_t hash = hash_of(hint->path);
	struct recent_path *set = &recent->places[first_of(hash)], *at = set;

	/* the path's own place, or else the oldest: an empty one has no time */
	for (size_t i = 0; i < RECENT_PATHS_SET && !is_of(at, hash, hint->path); i++)
		if (is_of(&set[i], hash, hint->path) || set[i].time_ns < at->time_ns)
			at = &set[i];
	if (!is_of(at, hash, hint->path)) {
		free(at->path);
		at->path = strdup(hint->path);
		at->hash = hash;
	}
	at->object = object;
	at->time_ns = now_ns;
}

void recent_paths_clear(struct recent_paths *recent)
{
	for (size_t i = 0; i < RECENT_PATHS; i++)
		free(recent->places[i].path);
	*recent = (struct recent_paths){ 0 };
}
