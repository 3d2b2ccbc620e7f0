/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/oracle/walk_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/walk_file.h"

enum { OBJECTS_MAX = 1 << 20 };

int walk_reader_open(const char *path, struct walk_reader *ret, struct fpl_err *err)
{
	struct walk_reader reader = { .off = 8 };
	FILE *file = fopen(path, "rbe");
	struct stat st;

	if (file == NULL || fstat(fileno(file), &st) != 0) {
		int code = fpl_fail(err, -errno, "%s: %s", path, strerror(errno));

		if (file != NULL)
			fclose(file);
		return code;
	}
	reader.size = (size_t)st.st_size;
	reader.bytes = malloc(reader.size + 1);
	if (reader.bytes != NULL && fread(reader.bytes, 1, reader.size, file) == reader.size &&
	    reader.size >= 8 && memcmp(reader.bytes, WALK_FILE_MAGIC, 8) == 0) {
		fclose(file);
		*ret = reader;
		return 0;
	}
	fclose(file);
	free(reader.bytes);
	return fpl_fail(err, -EINVAL, "%s: no walk file", path);
}

void walk_reader_close(struct walk_reader *reader)
{
	for (size_t i = 0; i < reader->nr_mapsets; i++)
		free(reader->mapsets[i]);
	free(reader->mapsets);
	free(reader->paths);
	free(reader->bytes);
}

const char *walk_reader_path(const struct walk_reader *reader, uint32_t id)
{
	return id < reader->nr_paths ? reader->paths[id] : NULL;
}

static int add_object(struct walk_reader *reader, const struct fpl_record_header *header)
{
	const struct walk_file_object *object = (const void *)header;
	const char *path = (const char *)(object + 1);

	if (header->size < sizeof(*object) || object->path_size > header->size - sizeof(*object) ||
	    object->id >= OBJECTS_MAX || memchr(path, '\0', object->path_size) == NULL)
		return -EINVAL;
	if (object->id >= reader->nr_paths) {
		size_t nr = (size_t)object->id * 2 + 64;
		const char **grown = reallocarray(reader->paths, nr, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		memset(grown + reader->nr_paths, 0, (nr - reader->nr_paths) * sizeof(*grown));
		reader->paths = grown;
		reader->nr_paths = nr;
	}
	reader->paths[object->id] = path;
	return 0;
}

static int add_mapset(struct walk_reader *reader, const struct fpl_record_header *header)
{
	const struct walk_file_mapset *record = (const void *)header;
	struct walk_mapset **grown;
	struct walk_mapset *mapset;

	if (header->size < sizeof(*record) ||
	    record->nr > (header->size - sizeof(*record)) / sizeof(struct fpl_mapping))
		return -EINVAL;
	grown = reallocarray(reader->mapsets, reader->nr_mapsets + 1, sizeof(*grown));
	mapset = malloc(sizeof(*mapset));
	if (grown != NULL)
		reader->mapsets = grown;
	if (grown == NULL || mapset == NULL) {
		free(mapset);
		return -ENOMEM;
	}
	*mapset = (struct walk_mapset){
		.gen = record->gen,
		.tgid = record->tgid,
		.version = record->version,
		.nr = record->nr,
		.mappings = (const void *)(record + 1),
	};
	reader->mapsets[reader->nr_mapsets++] = mapset;
	return 0;
}

static const struct walk_mapset *find_mapset(const struct walk_reader *reader,
					     const struct fpl_sample *sample)
{
	for (size_t i = reader->nr_mapsets; i-- > 0;) {
		const struct walk_mapset *mapset = reader->mapsets[i];

		if (mapset->gen == sample->gen && mapset->tgid == sample->tgid &&
		    mapset->version == sample->version)
			return mapset;
	}
	return NULL;
}

/* Returns 1, 0 for a walk without mapset, -EINVAL. */
static int read_walk(struct walk_reader *reader, const struct fpl_record_header *header,
		     struct walk *ret)
{
	const struct fpl_sample *sample = (const void *)header;
	size_t frames_size, left;

	if (header->size < sizeof(*sample))
		return -EINVAL;
	frames_size =
		((size_t)sample->nr_user + sample->nr_kernel + sample->nr_fp) * sizeof(uint64_t);
	left = header->size - sizeof(*sample);
	if (left < frames_size + sizeof(struct fpl_regs))
		return -EINVAL;
	left -= frames_size + sizeof(struct fpl_regs);
	ret->sample = sample;
	ret->user = (const void *)(sample + 1);
	ret->fp = ret->user + sample->nr_user + sample->nr_kernel;
	ret->regs = (const void *)(ret->fp + sample->nr_fp);
	ret->stack = (const void *)(ret->regs + 1);
	if (ret->regs->stack_size > left)
		return -EINVAL;
	ret->mapset = find_mapset(reader, sample);
	if (ret->mapset == NULL)
		reader->nr_homeless++;
	return ret->mapset != NULL;
}

int walk_reader_next(struct walk_reader *reader, struct walk *ret, struct fpl_err *err)
{
	while (reader->off + sizeof(struct fpl_record_header) <= reader->size) {
		const struct fpl_record_header *header =
			(const void *)(reader->bytes + reader->off);
		int code = 0;

		if (header->size < sizeof(*header) || header->size % 8 != 0 ||
		    header->size > reader->size - reader->off)
			return fpl_fail(err, -EINVAL, "walk file+%zu: a record of %u bytes",
					reader->off, header->size);
		if (header->type == WALK_FILE_OBJECT)
			code = add_object(reader, header);
		else if (header->type == WALK_FILE_MAPSET)
			code = add_mapset(reader, header);
		else if (header->type == FPL_RECORD_WALK)
			code = read_walk(reader, header, ret);
		if (code < 0)
			return fpl_fail(err, code, "walk file+%zu: record of type %u: %s",
					reader->off, header->type, strerror(-code));
		reader->off += header->size;
		if (code > 0)
			return 1;
	}
	return 0;
}
