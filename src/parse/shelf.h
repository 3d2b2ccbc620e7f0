/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a worker has read and keeps. A desk that will ask about a file again says so with
 * a key (PARSE_KEEP), and the file stays on the shelf, open, with its tables. For worker*.c alone.
 */
#pragma once

#include "parse/message.h"
#include "symbolize/debug_index.h"
#include "symbolize/symtab.h"
#include "unwind/function_list.h"

#define SHELF_FILES PARSE_KEPT_FILES
#define SHELF_BYTES (64u << 20) /* of memory a worker holds between two requests */

/* A file, as far as it was read. */
struct reading {
	struct elf_file *elf, *debug, *alt, *mini; /* owned; all but elf may be NULL */
	struct symtab *tab;			   /* owned; NULL: not read, or not there */
	struct debug_index *index;		   /* owned; NULL: the same */
	struct function_list functions;
	bool has_functions; /* they were read, as far as that went */

	struct parse_key key;
	size_t bytes; /* of memory, about */
	uint64_t last_use;
};

struct shelf {
	size_t nr_files;		       /* that it may hold, at most SHELF_FILES */
	struct reading *readings[SHELF_FILES]; /* owned [nr_files]; NULL: free */
	uint64_t nr_uses;
};

/* NULL is allowed. */
void reading_destroy(struct reading *reading);

/* Take what there is of the file of @key: the caller's from then on; NULL: nothing. */
struct reading *shelf_take(struct shelf *shelf, const struct parse_key *key);

/*
 * Put @reading, which has grown by @grown bytes, on the shelf, which owns it then. Of more than
 * nr_files the one not used for longest goes; where the process has more than SHELF_BYTES in
 * use, the largest: better read that one anew than all others.
 */
void shelf_put(struct shelf *shelf, struct reading *reading, size_t grown);

/* Bytes of the heap that are in use. With sanitizers 0: then the number of files alone is bounded.
 */
size_t shelf_heap_bytes(void);
