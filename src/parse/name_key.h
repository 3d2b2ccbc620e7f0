/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names are kept under on disk, and what they depend on besides the file itself.
 *
 * The key is a digest of what fstat(2) says of the file: device, inode, owner, size, times of
 * change. Whoever reads a hostile file may be made to lie about that file, or about another of the
 * same trust (obj/identity.h); so a lie stays among the files of one owner on one device. Names
 * also depend on the separate debug file: what its search meets is in the entry, and is held
 * against what it meets today (struct name_search). The key of what is no file of its process, the
 * vDSO, is a digest of its bytes.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "obj/opener.h"
#include "parse/name_entry.h"

#define NAME_KEY_IMAGE_MAX 65536u /* bytes of such an image */

/*
 * Compute the key of the names of the file open at @fd, which its process sees as @path; one that
 * does not begin with a slash names an image. @mangled: names as the file has them.
 *
 * Errors: -ENODATA it has none: it is not a file with a name, is of a file system that shows the
 * stamps a user wants (FUSE), was changed so lately that a change to come may leave no trace, or is
 * too large an image; those of fstat(2).
 */
FPL_MUST_CHECK int name_key_read(int fd, const char *path, bool mangled, struct name_key *ret);

/*
 * Describe the search for the debug file of @elf, seen as @path, and meet what is there now. What
 * desk_find_debug() would not follow, or does not answer, is not there. @opener: may be NULL.
 */
void name_search_make(struct opener *opener, const struct elf_file *elf,
		      const struct debug_link *link, const char *path, struct name_search *ret);

/* Does @search, of a file seen as @path, meet today what it met then? Cost: of each path that of
 * opener_walk(). */
bool name_search_holds(struct opener *opener, const struct name_search *search, const char *path);
