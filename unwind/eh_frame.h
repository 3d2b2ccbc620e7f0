/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of .eh_frame (LSB 5.0 Core, chapter 10.6) and .debug_frame (DWARF 5, section 6.4.1;
 * versions 1, 3 and 4): CIEs and FDEs, without running their programs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"
#include "obj/elf_file.h"
#include "base/id_table.h"
#include "unwind/budget.h"
#include "unwind/rows.h"

/* DW_EH_PE_*: low nibble the format, bits 4 to 6 the base. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_RELATION = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* The bytes of one section, and the bases of its pointers. */
struct cfi_section {
	uint8_t *bytes; /* owned by its reader */
	size_t size;	/* below 4 GiB */
	uint64_t vaddr;
	uint64_t text_vaddr;	    /* base of PE_TEXTREL: .text */
	uint64_t data_vaddr;	    /* base of PE_DATAREL: .got */
	const struct elf_file *elf; /* borrowed: PE_INDIRECT reads from it; NULL: not allowed */
	uint8_t source;		    /* enum cfi_source: .eh_frame or one of the .debug_frames */
	/* The first terminator at or behind this offset ends the entries; 0 skips none, SIZE_MAX
	 * skips all (each object file linked in may bring one). */
	size_t terminator_off;
};

/* The common part of all FDEs of one CIE. */
struct cfi_cie {
	const struct cfi_section *section;
	uint32_t off;		     /* of its length field in the section */
	uint32_t code_off, code_end; /* its initial instructions */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t fde_encoding;
	uint8_t address_size; /* of absptr: 4 or 8 */
	uint8_t segment_size; /* of the selector before addresses */
	bool sized;	      /* augmentation 'z': FDEs carry the size of their augmentation data */
	bool signal;	      /* augmentation 'S' */
	bool bad;	      /* does not parse: its FDEs cannot be used */
	bool started;	      /* initial was computed */
	struct cfi_row initial; /* the row after its instructions: FDEs start with it */
};

struct cfi_fde {
	uint64_t start, end;	     /* vaddr */
	uint32_t off;		     /* of its length field in the section */
	uint32_t code_off, code_end; /* its instructions */
	uint32_t cie;		     /* index */
};

/* The entries of all sections. */
struct cfi_list {
	struct cfi_cie *cies; /* owned [nr_cies] */
	struct cfi_fde *fdes; /* owned [nr_fdes], in order of sections and offsets */
	size_t nr_cies, room_cies;
	size_t nr_fdes, cap_fdes;
	struct id_table cie_table; /* of cies, by section and off */
	uint64_t nr_bad;	   /* FDEs that do not parse */
};

/*
 * Add the entries of @section, which must outlive @list. Malformed entries are counted; a length
 * that leaves the section ends it, and the entries before stay. Errors: -ENOMEM, -EFBIG over
 * @budget.
 */
FPL_MUST_CHECK int cfi_list_add(struct cfi_list *list, const struct cfi_section *section,
				struct budget *budget, struct fpl_err *err);
void cfi_list_fini(struct cfi_list *list);

/*
 * Read a pointer encoded as @encoding (DW_EH_PE_*) at the cursor, which walks @section's bytes.
 * Sets the cursor's `bad` if the encoding is invalid or the bytes end. @func_vaddr is the base of
 * PE_FUNCREL.
 */
uint64_t cfi_pointer(struct cursor *c, const struct cfi_section *section, uint8_t encoding,
		     uint8_t address_size, uint64_t func_vaddr);
