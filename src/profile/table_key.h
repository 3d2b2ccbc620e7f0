/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a compiled table on disk: a digest of all its inputs, and of the users who could have
 * written them.
 *
 * A table may only ever be found by a file that would have given the same one. The identity of the
 * object (obj/identity.h) covers the bytes; but a hostile file may make its parser claim another
 * file's identity, so the key also holds facts from fstat(2): its device and its owner, and on
 * devices whose numbers are given anew at each mount (overlayfs, tmpfs, btrfs), or where others
 * than its owner may write it, its stamp. So a forged file reaches entries of files of its own
 * owner on its own device at most.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "obj/identity.h"

#define TABLE_KEY_SIZE 32u

struct table_key {
	uint8_t bytes[TABLE_KEY_SIZE]; /* BLAKE2b-256 */
};

/*
 * Compute the key of the table of @elf, whose identity is @identity; its file had @stamp before
 * that was read. @debug: the separate debug file that takes part; NULL: none. @synth:
 * rows are made from code, too. Computed before and after a table is made, two equal keys say that
 * no file was changed meanwhile.
 *
 * Errors: -ENODATA one of them is not a file (an image in memory): it has no key; -ESTALE the file
 * of @elf was changed since @stamp; those of fstat(2).
 */
FPL_MUST_CHECK int table_key_read(const struct elf_file *elf, const struct identity *identity,
				  const struct file_stamp *stamp, int debug_fd, bool synth,
				  struct table_key *ret);
