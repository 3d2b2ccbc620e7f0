/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/known_files.h"

#include <string.h>

static uint64_t hash_of(const struct file_stamp *stamp)
{
	return id_table_hash(0, stamp, sizeof(*stamp));
}

void known_files_fini(struct known_files *files)
{
	vector_fini(&files->files);
	id_table_fini(&files->ids);
}

static struct known_file *find(const struct known_files *files, const struct file_stamp *stamp)
{
	uint32_t at =
		ID_TABLE_FIND(&files->ids, hash_of(stamp), i,
			      memcmp(&files->files.list[i].stamp, stamp, sizeof(*stamp)) == 0);

	return at == ID_TABLE_NONE ? NULL : &files->files.list[at];
}

const struct known_file *known_files_find(const struct known_files *files,
					  const struct file_stamp *stamp)
{
	return find(files, stamp);
}

void known_files_add(struct known_files *files, const struct file_stamp *stamp,
		     struct object *object)
{
	struct known_file *file = find(files, stamp);

	if (file) {
		file->object = object;
		return;
	}
	if (vector_reserve(&files->files, files->files.nr + 1) ||
	    id_table_add(&files->ids, hash_of(stamp), (uint32_t)files->files.nr))
		return;
	files->files.list[files->files.nr++] = (struct known_file){ *stamp, object };
}

void known_files_forget(struct known_files *files, bool (*keeps)(const struct object *object))
{
	struct known_files kept = { .files.list = NULL };

	for (size_t i = 0; i < files->files.nr; i++) {
		const struct known_file *file = &files->files.list[i];

		if (file->object && keeps(file->object))
			known_files_add(&kept, &file->stamp, file->object);
	}
	known_files_fini(files);
	*files = kept;
}
