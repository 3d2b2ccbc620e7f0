/* SPDX-License-Identifier: Apache-2.0 */
/* The line table of a unit (DWARF 5, section 6.2): its program run once, into rows by address. */
#pragma once

#include "symbolize/dwarf_unit.h"

/* The place of the code from a row on. */
struct line_place {
	uint32_t file; /* index as the program counts them */
	uint32_t line; /* 0: code of no line */
	uint32_t column;
};

/* Code without a gap, less than 4 GiB. */
struct line_sequence {
	uint64_t start, end;
	size_t first_row, nr_rows;
};

struct line_file {
	const char *name; /* borrowed, or NULL */
	uint64_t dir;
	char *path; /* owned, made when first asked for */
	bool is_made;
};

/* A program's header. */
struct line_header {
	uint16_t version;
	struct form_sizes sizes;
	uint8_t min_insn_bytes, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of standard opcodes */
	VECTOR(const char *) dirs;
	VECTOR(struct line_file) files;
};

struct line_table {
	/* A search needs the first of these. Offsets of rows stand apart, so that it meets few
	 * lines of memory. */
	VECTOR(struct line_sequence) sequences; /* ascending start */
	uint32_t *offs; /* owned [nr_rows]: from the start of the sequence, ascending in it */
	struct line_place *places; /* owned [nr_rows] */
	size_t nr_rows;
	size_t room_offs, room_rows;
	const struct dwarf_unit *unit; /* borrowed */
	struct line_header header;
};

/*
 * Run the program of @unit, which is read and has to stay. @supplement: as in dwarf_value.h.
 *
 * Errors: -ENOENT the unit has none; -EINVAL it makes no sense, or is of an unknown version;
 * -E2BIG over the file's work; -ENOMEM. A program that goes wrong half-way keeps the sequences
 * before.
 */
FPL_MUST_CHECK int line_table_create(const struct dwarf_unit *unit, struct dwarf_file *supplement,
				     struct line_table **ret, struct fpl_err *err);
void line_table_destroy(struct line_table *table);

/* The place in force at @vaddr; NULL: none. Cost: O(log n). */
const struct line_place *line_table_find(const struct line_table *table, uint64_t vaddr);

/*
 * The path of file @idx: absolute as far as the unit says it, not normalised. NULL where there is
 * no such file. Owned by the table.
 */
const char *line_table_path(struct line_table *table, uint64_t idx);

/* For line_table_create(): reads the header at @c and leaves @c at the program. */
FPL_MUST_CHECK int line_header_read(const struct dwarf_unit *unit, struct dwarf_file *supplement,
				    struct cursor *c, struct line_header *ret);
void line_header_fini(struct line_header *header);
FPL_MUST_CHECK int line_header_add_file(struct line_header *header, const char *name, uint64_t dir);
