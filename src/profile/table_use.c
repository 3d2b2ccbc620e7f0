/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_use.h"

#include <stdlib.h>

static struct object *object_of(const struct catalog *catalog, uint64_t frame)
{
	if (frame & FPL_FRAME_RAW)
		return NULL;
	return catalog_at(catalog, (frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX);
}

void table_use_fade(const struct catalog *catalog)
{
	for (size_t i = 0; i < catalog_nr_live(catalog); i++) {
		struct object *object = catalog_live(catalog, i);

		object->table.used /= 2;
		object->table.missed /= 2;
	}
}

void table_use_note(const struct catalog *catalog, const uint64_t *user, size_t nr_user,
		    uint8_t stop, uint64_t count, uint64_t look)
{
	for (size_t i = 0; i < nr_user; i++) {
		struct object *object = object_of(catalog, user[i]);

		if (!object)
			continue;
		if (stop == FPL_STOP_NO_TABLE && i + 1 == nr_user) {
			object->table.missed += count;
			continue;
		}
		object->table.used += count;
		object->table.used_look = look;
	}
}
