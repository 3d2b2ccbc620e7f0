/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/log.h"

/* The largest debug file of Debian 12 (chromium) is below 2 GiB. */
#define CRC_BYTES_MAX (8ull << 30)
#define CHUNK	      65536u

struct debuglink {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

static bool is_same_file(const struct elf_file *a, const struct elf_file *b)
{
	struct stat st_a, st_b;

	return a->fd >= 0 && b->fd >= 0 && fstat(a->fd, &st_a) == 0 && fstat(b->fd, &st_b) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

static bool crc_is(const struct elf_file *elf, uint32_t want)
{
	AUTO_FREE uint8_t *chunk = malloc(CHUNK);
	uLong crc = crc32_z(0, NULL, 0);

	if (!chunk || elf->size > CRC_BYTES_MAX)
		return false;
	for (uint64_t off = 0; off < elf->size; off += CHUNK) {
		size_t n = elf->size - off < CHUNK ? (size_t)(elf->size - off) : CHUNK;

		if (elf_file_read(elf, off, chunk, n, NULL))
			return false;
		crc = crc32_z(crc, chunk, n);
	}
	return crc == want;
}

static bool belongs(const struct elf_file *debug, const struct elf_file *elf,
		    const struct debuglink *link)
{
	if (is_same_file(debug, elf) || debug->machine != elf->machine)
		return false;
	if (debug->build_id_size && elf->build_id_size)
		return debug->build_id_size == elf->build_id_size &&
		       memcmp(debug->build_id, elf->build_id, elf->build_id_size) == 0;
	return link && crc_is(debug, link->crc);
}

/* @link: NULL when the candidate was found by build-id. */
static int try_candidate(const char *candidate, const struct elf_file *elf,
			 const struct debuglink *link, struct elf_file **ret)
{
	struct elf_file *debug = NULL;
	struct fpl_err err = { 0 };
	int rc = elf_file_open_path(candidate, &debug, &err);

	if (rc) {
		if (rc != -ENOENT && rc != -ENOTDIR)
			fpl_log(FPL_LOG_DEBUG, "%s: debug file not used: %s", elf->name, err.msg);
		return rc;
	}
	if (!belongs(debug, elf, link)) {
		fpl_log(FPL_LOG_DEBUG, "%s: debug file %s belongs to something else", elf->name,
			candidate);
		elf_file_close(debug);
		return -ENOENT;
	}
	*ret = debug;
	return 0;
}

static int find_by_build_id(const struct elf_file *elf, const char *debug_dir,
			    struct elf_file **ret)
{
	char candidate[PATH_MAX], hex[2 * ELF_FILE_BUILD_ID_MAX + 1];
	int n;

	if (elf->build_id_size < 2)
		return -ENOENT;
	for (size_t i = 0; i < elf->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", elf->build_id[i]);
	n = snprintf(candidate, sizeof(candidate), "%s/.build-id/%.2s/%s.debug", debug_dir, hex,
		     hex + 2);
	if (n < 0 || (size_t)n >= sizeof(candidate))
		return -ENOENT;
	return try_candidate(candidate, elf, NULL, ret);
}

/* A name with its NUL, padding to 4 bytes, a CRC-32 (gdb manual, "Separate Debug Files"). */
static int read_debuglink(const struct elf_file *elf, struct debuglink *ret)
{
	const struct elf_section *section = elf_file_section(elf, ".gnu_debuglink");
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size, name_size, crc_off;

	if (!section ||
	    elf_file_section_bytes(elf, section, sizeof(ret->name) + 8, &bytes, &size, NULL))
		return -ENOENT;
	name_size = strnlen((const char *)bytes, size) + 1;
	crc_off = (name_size + 3) & ~(size_t)3;
	if (name_size > sizeof(ret->name) || crc_off + sizeof(ret->crc) > size)
		return -ENOENT;
	memcpy(ret->name, bytes, name_size);
	memcpy(&ret->crc, bytes + crc_off, sizeof(ret->crc));
	/* It is a file name: a path would lead out of the directories to search. */
	if (!ret->name[0] || strchr(ret->name, '/') || strcmp(ret->name, ".") == 0 ||
	    strcmp(ret->name, "..") == 0)
		return -ENOENT;
	return 0;
}

static int find_by_debuglink(const struct elf_file *elf, const char *path, const char *debug_dir,
			     struct elf_file **ret)
{
	const char *slash = strrchr(path, '/');
	/* "dir/" with its slash; "" for a file of the working directory */
	int dir_len = slash ? (int)(slash - path) + 1 : 0;
	const char *prefix[] = { "", "", debug_dir };
	const char *below[] = { "", ".debug/", "" };
	struct debuglink link;
	int rc = read_debuglink(elf, &link);

	if (rc || strlen(path) >= PATH_MAX)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(prefix); i++) {
		char candidate[PATH_MAX];
		int n;

		if (prefix[i][0] && path[0] != '/')
			continue;
		n = snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", prefix[i], dir_len, path,
			     below[i], link.name);
		if (n < 0 || (size_t)n >= sizeof(candidate))
			continue;
		if (try_candidate(candidate, elf, &link, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

int debug_file_open(const struct elf_file *elf, const char *path, const char *debug_dir,
		    struct elf_file **ret, struct fpl_err *err)
{
	int rc;

	if (!debug_dir)
		debug_dir = DEBUG_FILE_DIR;
	rc = find_by_build_id(elf, debug_dir, ret);
	if (rc && path)
		rc = find_by_debuglink(elf, path, debug_dir, ret);
	if (rc == 0)
		return 0;
	return fpl_fail(err, rc == -ENOMEM ? rc : -ENOENT, "%s: no separate debug file", elf->name);
}
