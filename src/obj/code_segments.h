/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's code segments: its executable PT_LOADs. They turn an offset in the file, the only
 * position in pprofs of other tools, into an address of the program headers (vaddr).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"

struct code_segments {
	struct elf_segment *list; /* owned [nr], in the order of the program headers */
	size_t nr;
};

/*
 * Copy the code segments of @elf whose contents are in the file; a separate debug file has none.
 * Errors: -ENOENT no such segment; -ENOMEM.
 */
FPL_MUST_CHECK int code_segments_read(const struct elf_file *elf, struct code_segments *ret);
void code_segments_fini(struct code_segments *segments);

/* Find the vaddr of offset @off in the file. False: no code is there. */
bool code_segments_vaddr(const struct code_segments *segments, uint64_t off, uint64_t *ret);
