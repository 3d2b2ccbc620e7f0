/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the separate debug file of a file was looked for, which names depend on besides the file
 * itself: it is kept with names (naming/name_entry.h), and held against what is met today.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "obj/debug_file.h"
#include "obj/identity.h"
#include "obj/opener.h"

/*
 * The search for the file's debug file uses these, and met these on each of its paths: if it meets
 * the same again, it ends the same, so the names are the same. Holds no padding.
 */
struct name_search {
	uint64_t build_id_size; /* 0: none */
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX];
	char link_name[NAME_MAX + 1]; /* "": there is no debuglink */
	uint64_t link_crc;
	struct file_stamp met[DEBUG_FILE_CANDIDATES]; /* all 0: nothing is there */
};
_Static_assert(sizeof(struct name_search) ==
		       16 + ELF_FILE_BUILD_ID_MAX + NAME_MAX + 1 +
			       DEBUG_FILE_CANDIDATES * sizeof(struct file_stamp),
	       "struct name_search is compared and hashed bytewise");

/*
 * Describe the search for the debug file of @elf, seen as @path, and meet what is there now. What
 * client_find_debug() would not follow, or does not answer, is not there. @opener: may be NULL.
 */
void name_search_make(struct opener *opener, const struct elf_file *elf,
		      const struct debug_link *link, const char *path, struct name_search *ret);

/* Does @search, of a file seen as @path, meet today what it met then? Cost: of each path that of
 * opener_walk(). */
bool name_search_holds(struct opener *opener, const struct name_search *search, const char *path);
