/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a file's names, on disk and in a worker.
 *
 * The key is a digest of what fstat(2) says of the file: device, inode, owner, size, times of
 * change. Whoever reads a hostile file may be made to lie about that file, or about another of the
 * same trust (obj/identity.h); so a lie stays among the files of one owner on one device. The
 * key of what is no file of its process, the vDSO, is a digest of its bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define NAME_KEY_SIZE 32u

struct name_key {
	uint8_t bytes[NAME_KEY_SIZE];
};

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
