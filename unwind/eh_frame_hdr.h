/* SPDX-License-Identifier: Apache-2.0 */
/* Find .eh_frame in a file without sections: PT_GNU_EH_FRAME (LSB 5.0 Core, 10.6.2). */
#pragma once

#include "unwind/eh_frame.h"

/*
 * Read the .eh_frame that the .eh_frame_hdr of @elf points to. No field holds its size: it ends
 * with the first terminator behind the last FDE of the header's search table, and at the latest
 * with its PT_LOAD. Errors: -ENODATA no such header; -EINVAL it is malformed; -EFBIG; -ENOMEM.
 */
FPL_MUST_CHECK int eh_frame_hdr_find(const struct elf_file *elf, struct budget *budget,
				     struct cfi_section *ret, struct fpl_err *err);
