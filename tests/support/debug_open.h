/* SPDX-License-Identifier: Apache-2.0 */
/* Opens debug files in this process; in fpless workers read them (parse/client.h). */
#pragma once

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "obj/debug_file.h"
#include "tests/support/elf_path.h"

static inline bool is_same_file(const struct elf_file *a, const struct elf_file *b)
{
	struct stat st_a, st_b;

	return a->fd >= 0 && b->fd >= 0 && fstat(a->fd, &st_a) == 0 && fstat(b->fd, &st_b) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

/* @link: NULL when the candidate was found by build-id. */
static inline int try_candidate(const char *candidate, const struct elf_file *elf,
				const struct debug_link *link, struct elf_file **ret)
{
	struct elf_file *debug = NULL;
	int rc = elf_file_open_path(candidate, &debug, NULL);

	if (rc)
		return rc;
	if (is_same_file(debug, elf) || !debug_file_belongs(debug, elf, link)) {
		elf_file_close(debug);
		return -ENOENT;
	}
	*ret = debug;
	return 0;
}

/* The first candidate that is the debug file of @elf. Errors: -ENOENT; -ENOMEM. */
static inline int debug_file_open(const struct elf_file *elf, const char *path,
				  const char *debug_dir, struct elf_file **ret, struct fpl_err *err)
{
	struct debug_link link;
	const struct debug_search search = { .build_id = elf->build_id,
					     .build_id_size = elf->build_id_size,
					     .link = &link,
					     .path = path,
					     .debug_dir = debug_dir };
	char candidate[PATH_MAX];
	int rc = -ENOENT;

	debug_link_read(elf, &link);
	for (size_t i = 0; i < DEBUG_FILE_CANDIDATES; i++) {
		if (debug_file_candidate(&search, i, candidate))
			rc = try_candidate(candidate, elf, i ? &link : NULL, ret);
		if (rc == 0)
			return 0;
	}
	return fpl_fail(err, rc == -ENOMEM ? rc : -ENOENT, "%s: no separate debug file", elf->name);
}

/* The first candidate that is the supplement of @debug. Errors: -ENOENT. */
static inline int debug_alt_open(const struct elf_file *debug, const char *debug_dir,
				 struct elf_file **ret)
{
	struct debug_alt_link link;
	char candidate[PATH_MAX];

	debug_alt_link_read(debug, &link);
	for (size_t i = 0; i < DEBUG_ALT_CANDIDATES && link.build_id_size; i++) {
		struct elf_file *elf = NULL;

		if (!debug_alt_candidate(&link, debug_dir, i, candidate) ||
		    elf_file_open_path(candidate, &elf, NULL))
			continue;
		if (elf->build_id_size == link.build_id_size &&
		    memcmp(elf->build_id, link.build_id, link.build_id_size) == 0) {
			*ret = elf;
			return 0;
		}
		elf_file_close(elf);
	}
	return -ENOENT;
}
