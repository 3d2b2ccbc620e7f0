/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file's code goes: its executable PT_LOADs. By them an offset in the file, which is all
 * that pprofs of other tools tell of a frame, becomes an address of the program headers (vaddr).
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
 * Take those of @elf whose contents are in the file: not so in a separate debug file. Errors:
 * -ENOENT there are none; -ENOMEM.
 */
FPL_MUST_CHECK int code_segments_read(const struct elf_file *elf, struct code_segments *ret);
void code_segments_fini(struct code_segments *segments);

/* The vaddr of what is at @off in the file. False: no code is there. */
bool code_segments_vaddr(const struct code_segments *segments, uint64_t off, uint64_t *ret);
