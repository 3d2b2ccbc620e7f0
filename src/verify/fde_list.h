/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address ranges of a file's FDEs, found by libdw's own section iterator: the sweep must visit
 * them all, whatever the table's own reader found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "base/err.h"

/* Section of an FDE. */
enum fde_section {
	FDE_EH_FRAME,
	FDE_DEBUG_FRAME,
	FDE_DEBUG_FILE, /* .debug_frame of the separate debug file */
	FDE_NR_SECTIONS
};

struct fde_range {
	uint64_t start, end;	/* vaddr, start < end */
	uint8_t section;	/* enum fde_section */
	bool behind_terminator; /* libdw and the GNU unwinder stop reading before it */
};

struct fde_list {
	struct fde_range *ranges; /* owned [nr], ascending start once sorted; may overlap */
	size_t nr, capacity;
	size_t nr_unreadable; /* entries libdw cannot read, or of an encoding it does not know */
};

void fde_list_fini(struct fde_list *list);

/*
 * Append the FDEs in @data, the bytes of the CFI section @where at @section_vaddr. @ident is the
 * file's e_ident. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int fde_list_add(struct fde_list *list, const unsigned char *ident, Elf_Data *data,
				uint64_t section_vaddr, enum fde_section where);
void fde_list_sort(struct fde_list *list);
