/* SPDX-License-Identifier: Apache-2.0 */
/* The separate debug file of an object: its full .symtab, and often a .debug_frame. */
#pragma once

#include "base/err.h"
#include "obj/elf_file.h"

#define DEBUG_FILE_DIR "/usr/lib/debug"

/*
 * Find and open the separate debug file of @elf, as gdb does ("Debugging Information in Separate
 * Files"): by build-id, @debug_dir/.build-id/xx/yyyy.debug; then by .gnu_debuglink in the object's
 * directory, in .debug/ below it and in @debug_dir/<directory>.
 *
 * @path: where the object is, for the debuglink: absolute, or relative to the working directory;
 *        NULL: search by build-id alone. @debug_dir: NULL means DEBUG_FILE_DIR.
 *
 * A candidate is taken if it is an ELF file other than @elf itself with the same build-id; where
 * either has none, the CRC-32 of the debuglink must agree.
 *
 * Errors: -ENOENT there is none; -ENOMEM. Cost: a few failing opens; with CRC reads the candidate
 * once (at most 8 GiB, larger ones are refused).
 */
FPL_MUST_CHECK int debug_file_open(const struct elf_file *elf, const char *path,
				   const char *debug_dir, struct elf_file **ret,
				   struct fpl_err *err);
