/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .gnu_debugdata, "MiniDebugInfo": an xz-compressed ELF file inside an object, with the .symtab of
 * its local functions. Fedora, RHEL and their container images carry it; Debian does not.
 */
#pragma once

#include "base/err.h"
#include "obj/elf_file.h"

#define MINI_DEBUG_PACKED_MAX (16u << 20)
#define MINI_DEBUG_MAX	      (64u << 20) /* inflated */

/*
 * Inflate the .gnu_debugdata of @elf and read it as an ELF file in memory.
 *
 * Errors: -ENOENT no such section; -EFBIG over a limit; -EINVAL damaged; those of
 * elf_file_from_memory. Cost: about 10 ms per inflated MB.
 */
FPL_MUST_CHECK int mini_debug_open(const struct elf_file *elf, struct elf_file **ret,
				   struct fpl_err *err);
