/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core file as hostile bytes. Judged: a refusal says why, memory and mappings are in order and do
 * not overlap, paths end, and memory that is handed out is the file's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/core_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mappings(const struct core_file *core)
{
	uint64_t end = 0;

	for (size_t i = 0; i < core->mappings.nr; i++) {
		const struct core_mapping *map = &core->mappings.list[i];

		if (map->start < end || map->end <= map->start || strlen(map->path) > CORE_NOTE_MAX)
			abort();
		end = map->end;
		if (core_file_mapping(core, map->start) != map ||
		    core_file_mapping(core, map->end - 1) != map)
			abort();
	}
	if (core_file_mapping(core, UINT64_MAX))
		abort();
}

/* The last byte that the file has of @segment, and the one behind it. */
static void check_memory(const struct core_file *core, const struct core_segment *segment,
			 const uint8_t *data, size_t size)
{
	uint8_t got[2];

	if (segment->file_size > segment->size || segment->off > size - segment->file_size)
		abort();
	if (core_file_memory(core, segment->vaddr + segment->file_size - 1, got, 1) ||
	    got[0] != data[segment->off + segment->file_size - 1])
		abort();
	if (segment->file_size < segment->size &&
	    core_file_memory(core, segment->vaddr + segment->file_size - 1, got, 2) != -ENOENT)
		abort();
}

static void check_segments(const struct core_file *core, const uint8_t *data, size_t size)
{
	uint64_t end = 0;

	for (size_t i = 0; i < core->segments.nr; i++) {
		const struct core_segment *segment = &core->segments.list[i];

		if (!segment->size || segment->vaddr < end)
			abort();
		end = segment->vaddr + segment->size;
		if (segment->file_size)
			check_memory(core, segment, data, size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct core_file *core = NULL;
	struct fpl_err err = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (core_file_open(fd, "core", &core, &err)) {
		if (strncmp(err.msg, "core: ", 6) != 0)
			abort();
		return 0;
	}
	if (!core->threads.nr || core->threads.nr > CORE_THREADS_MAX ||
	    memchr(core->comm, 0, sizeof(core->comm)) == NULL)
		abort();
	check_mappings(core);
	check_segments(core, data, size);
	core_file_close(core);
	return 0;
}
