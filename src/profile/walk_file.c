/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/walk_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "base/cleanup.h"

struct seen_mapset {
	uint64_t gen;
	uint32_t tgid, version;
};

struct walk_file {
	FILE *file; /* owned */
	char *path; /* owned */
	VECTOR(struct seen_mapset) seen;
	uint32_t nr_objects; /* written: ids up to this */
	bool failed;
};

static void write_bytes(struct walk_file *file, const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, file->file) != size)
		file->failed = true;
}

int walk_file_create(const char *path, struct walk_file **ret, struct fpl_err *err)
{
	struct walk_file *file = calloc(1, sizeof(*file));

	if (file) {
		file->path = strdup(path);
		file->file = fopen(path, "we");
	}
	if (!file || !file->path || !file->file) {
		int code = fpl_fail(err, -EIO, "%s: %s", path, strerror(errno));

		walk_file_close(file, NULL);
		return code;
	}
	write_bytes(file, WALK_FILE_MAGIC, 8);
	*ret = file;
	return 0;
}

int walk_file_close(struct walk_file *file, struct fpl_err *err)
{
	int code = 0;

	if (!file)
		return 0;
	if (file->file && (fclose(file->file) != 0 || file->failed))
		code = fpl_fail(err, -EIO, "%s: could not be written whole", file->path);
	free(file->path);
	vector_fini(&file->seen);
	free(file);
	return code;
}

static void write_object(struct walk_file *file, const struct object *object)
{
	static const char zero[8];
	size_t len = strlen(object->path) + 1;
	size_t padded = (len + 7) / 8 * 8;
	struct walk_file_object record = {
		.header = { .type = WALK_FILE_OBJECT, .size = (uint32_t)(sizeof(record) + padded) },
		.id = object->id,
		.path_size = (uint32_t)padded,
	};

	write_bytes(file, &record, sizeof(record));
	write_bytes(file, object->path, len);
	write_bytes(file, zero, padded - len);
}

/* All objects known so far that are not in the file yet. */
static void write_objects(struct walk_file *file, const struct catalog *catalog)
{
	while (file->nr_objects < catalog_nr(catalog)) {
		const struct object *object = catalog_at(catalog, ++file->nr_objects);

		if (object)
			write_object(file, object);
	}
}

/* Is this mapset in the file? Remembers that it will be. */
static bool see_mapset(struct walk_file *file, const struct fpl_sample *walk)
{
	for (size_t i = file->seen.nr; i-- > 0;) {
		const struct seen_mapset *s = &file->seen.list[i];

		if (s->gen == walk->gen && s->tgid == walk->tgid && s->version == walk->version)
			return true;
	}
	/* without memory it is written again next time */
	(void)!vector_push(&file->seen,
			   (struct seen_mapset){ walk->gen, walk->tgid, walk->version });
	return false;
}

void walk_file_add(struct walk_file *file, const struct fpl_sample *walk,
		   const struct fpl_mapping *mappings, uint32_t nr_mappings,
		   const struct catalog *catalog)
{
	write_objects(file, catalog);
	if (!see_mapset(file, walk)) {
		struct walk_file_mapset record = {
			.header = { .type = WALK_FILE_MAPSET,
				    .size = (uint32_t)(sizeof(record) +
						       nr_mappings * sizeof(*mappings)) },
			.gen = walk->gen,
			.tgid = walk->tgid,
			.version = walk->version,
			.nr = nr_mappings,
		};

		write_bytes(file, &record, sizeof(record));
		write_bytes(file, mappings, nr_mappings * sizeof(*mappings));
	}
	write_bytes(file, walk, walk->header.size);
}
