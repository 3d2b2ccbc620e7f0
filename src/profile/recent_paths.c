/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recent_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "profile/object.h"

static size_t place_of(const char *path)
{
	return id_table_hash(0, path, strlen(path)) % RECENT_PATHS;
}

struct object *recent_paths_find(const struct recent_paths *recent, const struct file_hint *hint,
				 uint64_t now_ns)
{
	const struct recent_path *at = &recent->places[place_of(hint->path)];

	if (!at->path || now_ns - at->time_ns >= RECENT_PATHS_NS ||
	    strcmp(at->path, hint->path) != 0 || !file_hint_has_build_id(hint, at->object->elf))
		return NULL;
	return at->object;
}

void recent_paths_note(struct recent_paths *recent, const struct file_hint *hint,
		       struct object *object, uint64_t now_ns)
{
	struct recent_path *at = &recent->places[place_of(hint->path)];

	if (!at->path || strcmp(at->path, hint->path) != 0) {
		free(at->path);
		at->path = strdup(hint->path);
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
