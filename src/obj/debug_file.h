/* SPDX-License-Identifier: Apache-2.0 */
/* The separate debug file of an object: its full .symtab, and often a .debug_frame. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"

#define DEBUG_FILE_DIR "/usr/lib/debug"

/* Contents of .gnu_debuglink. */
struct debug_link {
	char name[NAME_MAX + 1]; /* of a file: no slash; "": there is no link */
	uint32_t crc;
	/* Not 0: something was taken out of the file. It has no symbol table, or it has the
	 * section of a link. */
	uint32_t is_stripped;
};

/* Read the debuglink of @elf; one that is missing or damaged leaves the name in *ret empty. */
void debug_link_read(const struct elf_file *elf, struct debug_link *ret);
/* May @name stand in a debuglink: is it a plain file name? */
bool debug_link_name_is_plain(const char *name);

/* Contents of .gnu_debugaltlink of a debug file, about its supplement made by dwz(1). */
struct debug_alt_link {
	char name[256]; /* below DEBUG_FILE_DIR/.dwz: no "..", not absolute; "": unknown */
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX];
	uint64_t build_id_size; /* 0: there is no link */
};

/* Read the link of @debug; a missing or damaged one leaves *ret empty. */
void debug_alt_link_read(const struct elf_file *debug, struct debug_alt_link *ret);
/* Is @name one that such a link may have? */
bool debug_alt_link_name_is_plain(const char *name);

#define DEBUG_ALT_CANDIDATES 3u

/*
 * Write the path of the @idx-th candidate for a supplement, below DEBUG_ALT_CANDIDATES: by
 * build-id, then by name, both below @debug_dir (NULL: DEBUG_FILE_DIR), whatever folder the link
 * names (an untrusted file must not choose the files to read); then the file that debuginfod's
 * client has fetched. Returns false if no candidate has this number.
 */
bool debug_alt_candidate(const struct debug_alt_link *link, const char *debug_dir, size_t idx,
			 char ret[PATH_MAX]);

#define DEBUG_FILE_CANDIDATES 5u

/*
 * Input of the search for the separate debug file of an object, as gdb does it ("Debugging
 * Information in Separate Files"): by build-id, @debug_dir/.build-id/xx/yyyy.debug; then by
 * .gnu_debuglink in the object's directory, in .debug/ below it and in @debug_dir/<directory>; at
 * last the file that debuginfod's client has fetched (obj/debuginfod.h).
 */
struct debug_search {
	const uint8_t *build_id; /* borrowed [build_id_size] */
	size_t build_id_size;
	const struct debug_link *link; /* borrowed */
	/* The place of the object, for the debuglink: absolute, or relative to the working
	 * directory; NULL: search by build-id alone. */
	const char *path;
	const char *debug_dir; /* NULL: DEBUG_FILE_DIR */
};

/*
 * Write the path of the @idx-th candidate, below DEBUG_FILE_CANDIDATES, in the order of the search.
 * Returns false if no candidate has this number.
 */
bool debug_file_candidate(const struct debug_search *search, size_t idx, char ret[PATH_MAX]);

/* Is the @idx-th candidate in the object's folder, or below, so that its owner put it there? */
bool debug_file_is_beside(size_t idx);

/* The CRC-32 of all bytes of @elf, as a debuglink has it. Errors: -EFBIG over 8 GiB; -ENOMEM; of
 * reading. */
FPL_MUST_CHECK int debug_file_crc(const struct elf_file *elf, uint32_t *ret);

/* Is @debug the debug file of @elf, which has @link? Compares build-ids or the CRC-32 of the link.
 */
bool debug_file_belongs(const struct elf_file *debug, const struct elf_file *elf,
			const struct debug_link *link);
