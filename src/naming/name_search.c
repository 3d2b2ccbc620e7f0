/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/name_search.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"

/* The stamp of what is at @path; false: nothing is. */
static bool meet_one(struct opener *opener, const char *path, struct file_stamp *ret)
{
	const struct opener_path where = { .folder_fd = -1, .path = path, .is_trusted = true };
	AUTO_FD int fd = -1;

	return !opener_walk(opener, &where, NULL, &fd) && !file_stamp_read(fd, ret);
}

static void meet(struct opener *opener, const struct name_search *search, const char *path,
		 struct file_stamp ret[DEBUG_FILE_CANDIDATES])
{
	struct debug_link link = { .crc = (uint32_t)search->link_crc };
	const struct debug_search where = { .build_id = search->build_id,
					    .build_id_size = search->build_id_size,
					    .link = &link,
					    .path = path[0] == '/' ? path : NULL };
	char candidate[PATH_MAX];

	memcpy(link.name, search->link_name, sizeof(link.name));
	memset(ret, 0, DEBUG_FILE_CANDIDATES * sizeof(*ret));
	for (size_t i = 0; i < DEBUG_FILE_CANDIDATES; i++) {
		if (debug_file_candidate(&where, i, candidate) &&
		    !meet_one(opener, candidate, &ret[i]))
			memset(&ret[i], 0, sizeof(ret[i]));
	}
}

void name_search_make(struct opener *opener, const struct elf_file *elf,
		      const struct debug_link *link, const char *path, struct name_search *ret)
{
	*ret = (struct name_search){ .build_id_size = elf->build_id_size, .link_crc = link->crc };
	memcpy(ret->build_id, elf->build_id, elf->build_id_size);
	/* what stands behind its end is not a part of the name */
	memcpy(ret->link_name, link->name, strlen(link->name));
	meet(opener, ret, path, ret->met);
}

bool name_search_holds(struct opener *opener, const struct name_search *search, const char *path)
{
	struct file_stamp now[DEBUG_FILE_CANDIDATES];

	meet(opener, search, path, now);
	return memcmp(now, search->met, sizeof(now)) == 0;
}
