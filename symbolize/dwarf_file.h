/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debugging information of a file as hostile bytes: its sections in memory, the text in them,
 * and what reading them may cost. DWARF 2 to 5 in its 32-bit and 64-bit formats (DWARF 5, section
 * 7.4), for targets of 8-byte addresses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"
#include "obj/elf_file.h"

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_ARANGES,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_SECTION_COUNT
};

/* Sections are read whole: bytes of all that are read of one file, inflated. */
#define DWARF_BYTES_MAX (640u << 20)
#define DWARF_TEXT_MAX	65536u /* of a name or a path, with its NUL; longer ones do not count */

struct dwarf_bytes {
	uint8_t *bytes; /* owned [size] */
	size_t size;
	bool is_read; /* as far as that went; bytes NULL: no section */
};

struct dwarf_file {
	const struct elf_file *elf; /* borrowed: has .debug_info */
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	size_t bytes_left; /* of DWARF_BYTES_MAX */
	/*
	 * Bytes and entries that may still be looked at. What is read twice at the file's word
	 * (a table that many units share) is paid twice, so that the work is linear in its size.
	 */
	uint64_t work_left;
};

/* Has @elf a .debug_info? */
bool dwarf_file_is_there(const struct elf_file *elf);

/*
 * Prepare to read @elf, which has to stay. Errors: -ENOENT it has no .debug_info; of reading
 * sections: as dwarf_section().
 */
FPL_MUST_CHECK int dwarf_file_init(struct dwarf_file *file, const struct elf_file *elf,
				   struct fpl_err *err);
void dwarf_file_fini(struct dwarf_file *file);

/*
 * The bytes of @section, read at the first call, into *ret as a cursor over all of them; one that
 * the file has not is empty. Errors: -EFBIG too large; those of elf_file_section_bytes(), once:
 * later calls see it empty.
 */
FPL_MUST_CHECK int dwarf_section(struct dwarf_file *file, enum dwarf_section section,
				 struct cursor *ret, struct fpl_err *err);

/* A cursor from @off of @section to its end; empty where there is nothing. */
struct cursor dwarf_at(struct dwarf_file *file, enum dwarf_section section, uint64_t off);

/* The text at @off of @section: NULL: no text, or more than DWARF_TEXT_MAX. */
const char *dwarf_text(struct dwarf_file *file, enum dwarf_section section, uint64_t off);

/*
 * Is there code at @vaddr? What a linker has left out says it is at 0, 1 or the highest address
 * (DWARF 5 knows no word for it), which may well be the start of a range that holds real code.
 */
bool dwarf_is_code(const struct dwarf_file *file, uint64_t vaddr);

/* Account for @nr bytes or entries to be looked at. Errors: -E2BIG over the limit. */
FPL_MUST_CHECK int dwarf_work(struct dwarf_file *file, uint64_t nr, struct fpl_err *err);

/* "FILE: SECTION+OFF: @what" */
int dwarf_fail(const struct dwarf_file *file, enum dwarf_section section, uint64_t off, int code,
	       const char *what, struct fpl_err *err);

/*
 * Read the length a unit of any section begins with (DWARF 5, section 7.4): returns where it ends
 * as the file says, NULL (and @c bad) where it makes no sense. *ret_offset_size: 4 or 8.
 */
const uint8_t *dwarf_unit_length(struct cursor *c, uint8_t *ret_offset_size);
