/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a program made at run time, by address and, as far as it is known, by time:
 * the same memory may hold one function after another. Filled from what the program wrote of it
 * (perf_map, jitdump), then arranged, then asked. The parts are flat: no pointers inside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "symbolize/symbol_place.h"

#define CODE_NAME_MAX 4096u /* bytes of one name; the rest of a longer one is cut off */

/*
 * One function at one place, a part of one with the functions that are inlined there, or with
 * name_off CODE_NO_NAME the news that nothing is there now.
 */
struct code_entry {
	uint64_t start, end; /* runtime addresses, [start, end) */
	uint64_t from_ns;    /* CLOCK_MONOTONIC; 0: at no known time, taken for always */
	uint64_t function;   /* where the function begins: start, or before it */
	uint32_t name_off;   /* in names */
	uint32_t seq;	     /* order of adding: where two cover an address, the later wins */
	uint32_t first_line; /* lines[first_line .. + nr_lines), the innermost first; 0: nothing is
				known but the name */
	uint32_t nr_lines;
};

#define CODE_NO_NAME UINT32_MAX

/* A function at a part of code, and the line of its source. */
struct code_line {
	uint32_t name_off, file_off; /* in names; CODE_NO_NAME: unknown, for files alone */
	uint32_t line;		     /* 0: unknown */
};

/* Which entry is the last to cover an address. */
struct code_segment {
	uint64_t start, end; /* [start, end) */
	uint32_t entry;	     /* index */
	uint32_t _pad;
};

struct code_table {
	struct code_entry *entries; /* owned [nr]; after code_table_arrange by start, then seq */
	size_t nr, room;
	char *names; /* owned [names_size]: NUL-terminated, one behind the other */
	size_t names_size, names_room;
	struct code_line *lines; /* owned [nr_lines] */
	size_t nr_lines, lines_room;
	struct code_segment *segments; /* owned [nr_segments], ascending, without overlap */
	size_t nr_segments;
	uint64_t longest; /* entry, bytes */
	size_t max_bytes; /* of all the above, when it is arranged */
	/* Finds the texts of lines: their places in names. Until code_table_arrange(). */
	struct id_table texts;
};

/* The functions at an address. */
struct code_lines {
	const struct code_table *table; /* borrowed */
	uint32_t first, nr;		/* in its lines; nr 0: nothing is known */
};

struct code_match {
	const char *name;  /* owned by the table */
	uint64_t start;	   /* of the function */
	bool was_replaced; /* other code was put there after the time asked for */
	struct code_lines lines;
};

/* An empty table that grows up to @max_bytes. */
void code_table_init(struct code_table *table, size_t max_bytes);
void code_table_fini(struct code_table *table);

/*
 * Add a function of @size bytes at @start named @name[@name_size] (no NUL in it); @name NULL: from
 * @from_ns on nothing is there. Errors: -EINVAL empty, or beyond the address space; -ENOSPC over
 * the budget; -ENOMEM. The table is as before then.
 */
FPL_MUST_CHECK int code_table_add(struct code_table *table, uint64_t start, uint64_t size,
				  uint64_t from_ns, const char *name, size_t name_size);

/*
 * Add the functions @lines [@nr_lines] at the one address @addr, in code that begins at @function:
 * the innermost first, the last one is that of the code. Name, file and line of each are taken.
 * Errors: -EINVAL @nr_lines is 0, one has no name, or the code begins behind it; as above.
 */
FPL_MUST_CHECK int code_table_add_lines(struct code_table *table, uint64_t addr, uint64_t function,
					uint64_t from_ns, const struct symbol_line *lines,
					size_t nr_lines);

/* Line @idx of @lines. Its texts are owned by the table. */
struct symbol_line code_lines_at(const struct code_lines *lines, size_t idx);

/* The lines of @entry. */
struct code_lines code_table_lines(const struct code_table *table, const struct code_entry *entry);

/*
 * The name of the entry added last of those that begin at @start; NULL: no such entry, or nothing
 * is there. For jitdump's moves: before code_table_arrange. Looks at no more than *steps
 * entries and takes from *steps how many it was.
 */
const char *code_table_last_at(const struct code_table *table, uint64_t start, uint64_t *steps);

/* Make it ready for questions. Errors: -ENOMEM: it has no answers. Cost: O(nr log nr). */
FPL_MUST_CHECK int code_table_arrange(struct code_table *table);

/* The most an entry costs once the table is arranged, its name and lines aside. */
#define CODE_ENTRY_CHARGE (sizeof(struct code_entry) + 2 * sizeof(struct code_segment))

/*
 * Is this an arranged table, whoever made it: may it be asked anything? Sets what it did not bring
 * along (longest). Cost: O(bytes).
 */
bool code_table_check(struct code_table *table);

/*
 * Find what was at @addr at @time_ns (CLOCK_MONOTONIC). Code that is only known of a later time is
 * taken where nothing earlier is, the first of it. Returns false where there was nothing. Cost:
 * O(log nr); where the code was replaced later up to CODE_SCAN_MAX entries are looked at for what
 * was there before.
 */
#define CODE_SCAN_MAX 65536u
bool code_table_find(const struct code_table *table, uint64_t addr, uint64_t time_ns,
		     struct code_match *ret);

/* Bytes the table holds. */
size_t code_table_bytes(const struct code_table *table);
