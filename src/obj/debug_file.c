/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "obj/debuginfod.h"

/* The largest debug file of Debian 12 (chromium) is below 2 GiB. */
#define CRC_BYTES_MAX (8ull << 30)
#define CHUNK	      65536u

int debug_file_crc(const struct elf_file *elf, uint32_t *ret)
{
	AUTO_FREE uint8_t *chunk = malloc(CHUNK);
	uLong crc = crc32_z(0, NULL, 0);

	if (!chunk)
		return -ENOMEM;
	if (elf->size > CRC_BYTES_MAX)
		return -EFBIG;
	for (uint64_t off = 0; off < elf->size; off += CHUNK) {
		size_t n = elf->size - off < CHUNK ? (size_t)(elf->size - off) : CHUNK;
		int rc = elf_file_read(elf, off, chunk, n, NULL);

		if (rc)
			return rc;
		crc = crc32_z(crc, chunk, n);
	}
	*ret = (uint32_t)crc;
	return 0;
}

static bool crc_is(const struct elf_file *elf, uint32_t want)
{
	uint32_t crc;

	return debug_file_crc(elf, &crc) == 0 && crc == want;
}

bool debug_file_belongs(const struct elf_file *debug, const struct elf_file *elf,
			const struct debug_link *link)
{
	if (debug->machine != elf->machine)
		return false;
	if (debug->build_id_size && elf->build_id_size)
		return debug->build_id_size == elf->build_id_size &&
		       memcmp(debug->build_id, elf->build_id, elf->build_id_size) == 0;
	return link && link->name[0] && crc_is(debug, link->crc);
}

bool debug_link_name_is_plain(const char *name)
{
	/* It is a file name: a path would lead out of the directories to search. */
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* A name with its NUL, padding to 4 bytes, a CRC-32 (gdb manual, "Separate Debug Files"). */
void debug_link_read(const struct elf_file *elf, struct debug_link *ret)
{
	const struct elf_section *section = elf_file_section(elf, ".gnu_debuglink");
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size, name_size, crc_off;

	*ret = (struct debug_link){ .is_stripped = section || !elf_file_section(elf, ".symtab") };
	if (!section ||
	    elf_file_section_bytes(elf, section, sizeof(ret->name) + 8, &bytes, &size, NULL))
		return;
	name_size = strnlen((const char *)bytes, size) + 1;
	crc_off = (name_size + 3) & ~(size_t)3;
	if (name_size > sizeof(ret->name) || crc_off + sizeof(ret->crc) > size ||
	    !debug_link_name_is_plain((const char *)bytes))
		return;
	memcpy(ret->name, bytes, name_size);
	memcpy(&ret->crc, bytes + crc_off, sizeof(ret->crc));
}

static bool build_id_candidate(const uint8_t *build_id, size_t build_id_size, const char *debug_dir,
			       char ret[PATH_MAX])
{
	char hex[2 * ELF_FILE_BUILD_ID_MAX + 1];
	int n;

	if (build_id_size < 2 || build_id_size > ELF_FILE_BUILD_ID_MAX)
		return false;
	text_hex(build_id, build_id_size, hex);
	n = snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2);
	return n >= 0 && n < PATH_MAX;
}

bool debug_file_is_beside(size_t idx)
{
	return idx == 1 || idx == 2;
}

bool debug_file_candidate(const struct debug_search *search, size_t idx, char ret[PATH_MAX])
{
	const char *debug_dir = search->debug_dir ? search->debug_dir : DEBUG_FILE_DIR;
	const char *prefix[] = { "", "", debug_dir };
	const char *below[] = { "", ".debug/", "" };
	const char *path = search->path, *slash;
	int n;

	if (idx == 0)
		return build_id_candidate(search->build_id, search->build_id_size, debug_dir, ret);
	if (idx == DEBUG_FILE_CANDIDATES - 1)
		return debuginfod_cached(search->build_id, search->build_id_size, DEBUGINFOD_DEBUG,
					 ret);
	idx--;
	if (idx >= ARRAY_SIZE(prefix) || !path || strlen(path) >= PATH_MAX ||
	    !search->link->name[0] || (prefix[idx][0] && path[0] != '/'))
		return false;
	/* "dir/" with its slash; "" for a file of the working directory */
	slash = strrchr(path, '/');
	n = snprintf(ret, PATH_MAX, "%s%.*s%s%s", prefix[idx], slash ? (int)(slash - path) + 1 : 0,
		     path, below[idx], search->link->name);
	return n >= 0 && n < PATH_MAX;
}

bool debug_alt_link_name_is_plain(const char *name)
{
	const char *at = name;

	if (name[0] == '/')
		return false;
	while ((at = strstr(at, "..")) != NULL) {
		if ((at == name || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return false;
		at += 2;
	}
	return true;
}

/* A path with its NUL, a build-id (GNU's predecessor of DWARF 5's .debug_sup). */
void debug_alt_link_read(const struct elf_file *debug, struct debug_alt_link *ret)
{
	const struct elf_section *section = elf_file_section(debug, ".gnu_debugaltlink");
	AUTO_FREE uint8_t *bytes = NULL;
	const char *path, *below = NULL;
	size_t size, path_size;

	*ret = (struct debug_alt_link){ .build_id_size = 0 };
	if (!section || elf_file_section_bytes(debug, section, PATH_MAX + ELF_FILE_BUILD_ID_MAX,
					       &bytes, &size, NULL))
		return;
	path = (const char *)bytes;
	path_size = strnlen(path, size) + 1;
	if (path_size > size || size - path_size > ELF_FILE_BUILD_ID_MAX)
		return;
	ret->build_id_size = size - path_size;
	memcpy(ret->build_id, bytes + path_size, size - path_size);
	/* the part behind the last "/.dwz/" is the name in any tree of debug files */
	for (const char *at = path; (at = strstr(at, ".dwz/")) != NULL; at += 5)
		below = at + 5;
	if (below && strlen(below) < sizeof(ret->name) && debug_alt_link_name_is_plain(below))
		memcpy(ret->name, below, strlen(below) + 1);
}

bool debug_alt_candidate(const struct debug_alt_link *link, const char *debug_dir, size_t idx,
			 char ret[PATH_MAX])
{
	int n;

	debug_dir = debug_dir ? debug_dir : DEBUG_FILE_DIR;
	if (idx == 0)
		return build_id_candidate(link->build_id, link->build_id_size, debug_dir, ret);
	if (idx == DEBUG_ALT_CANDIDATES - 1)
		return debuginfod_cached(link->build_id, link->build_id_size, DEBUGINFOD_DEBUG,
					 ret);
	if (idx >= DEBUG_ALT_CANDIDATES || !link->name[0])
		return false;
	n = snprintf(ret, PATH_MAX, "%s/.dwz/%s", debug_dir, link->name);
	return n >= 0 && n < PATH_MAX;
}
