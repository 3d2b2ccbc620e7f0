/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/known_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_LEAST 1024u /* a power of two */

static bool is_empty(const struct known_file *file)
{
	static const struct file_stamp none;

	return memcmp(&file->stamp, &none, sizeof(none)) == 0;
}

/* The place of the file with @stamp, or the free one for it. */
static struct known_file *place_of(const struct known_files *files, const struct file_stamp *stamp)
{
	size_t mask = files->size - 1;
	size_t at = (size_t)((stamp->inode * 0x9e3779b97f4a7c15u ^ stamp->dev) >> 7) & mask;

	while (!is_empty(&files->places[at]) &&
	       memcmp(&files->places[at].stamp, stamp, sizeof(*stamp)) != 0)
		at = (at + 1) & mask;
	return &files->places[at];
}

/* Moves what @keeps, NULL: all, to @size new places. False without memory: nothing has changed. */
static bool refill(struct known_files *files, size_t size, bool (*keeps)(const struct object *))
{
	struct known_files filled = { .places = calloc(size, sizeof(*filled.places)),
				      .size = size };

	if (!filled.places)
		return false;
	for (size_t i = 0; i < files->size; i++) {
		const struct known_file *file = &files->places[i];

		if (is_empty(file) || (keeps && (!file->object || !keeps(file->object))))
			continue;
		*place_of(&filled, &file->stamp) = *file;
		filled.nr++;
	}
	free(files->places);
	*files = filled;
	return true;
}

int known_files_init(struct known_files *files)
{
	*files = (struct known_files){ 0 };
	return refill(files, SIZE_LEAST, NULL) ? 0 : -ENOMEM;
}

void known_files_fini(struct known_files *files)
{
	free(files->places);
	*files = (struct known_files){ 0 };
}

const struct known_file *known_files_find(const struct known_files *files,
					  const struct file_stamp *stamp)
{
	const struct known_file *file = place_of(files, stamp);

	return is_empty(file) ? NULL : file;
}

void known_files_add(struct known_files *files, const struct file_stamp *stamp,
		     struct object *object)
{
	struct known_file *file;

	if (2 * (files->nr + 1) > files->size && !refill(files, 2 * files->size, NULL))
		return;
	file = place_of(files, stamp);
	files->nr += is_empty(file);
	*file = (struct known_file){ *stamp, object };
}

void known_files_forget(struct known_files *files, bool (*keeps)(const struct object *object))
{
	if (refill(files, files->size, keeps))
		return;
	memset(files->places, 0, files->size * sizeof(*files->places));
	files->nr = 0;
}
