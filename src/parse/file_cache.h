/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a worker has read and keeps. A client that will ask about a file again says so
 * with a key (PARSE_KEEP), and the file stays in the cache, open, with its tables. For worker*.c
 * alone.
 */
#pragma once

#include "parse/message.h"
#include "symbolize/debug_index.h"
#include "symbolize/symtab.h"
#include "unwind/function_list.h"
#include "unwind/go_lines.h"

#define FILE_CACHE_FILES PARSE_KEPT_FILES
#define FILE_CACHE_BYTES (64u << 20) /* of memory a worker holds between two requests */
#define FILE_CACHE_REST_BYTES \
	(8u << 20) /* the same of a worker that rests: one of an agent, between two windows */
#define FILE_CACHE_AGE_S 120u /* a file that was not asked about for longer is dropped */

/* A file, as far as it was read. */
struct reading {
	struct elf_file *elf, *debug, *alt, *mini; /* owned; all but elf may be NULL */
	struct symtab *tab;			   /* owned; NULL: not read, or not there */
	struct debug_index *index;		   /* owned; NULL: the same */
	struct go_lines *go_lines;		   /* owned; NULL: the same */
	struct function_list functions;
	bool has_functions; /* they were read, as far as that went */

	struct parse_key key;
	size_t bytes;	      /* of memory, about */
	uint64_t last_use_ns; /* CLOCK_MONOTONIC */
};

struct file_cache {
	size_t nr_files;			    /* that it may hold, at most FILE_CACHE_FILES */
	struct reading *readings[FILE_CACHE_FILES]; /* owned [nr_files]; NULL: free */
};

/* NULL is allowed. */
void reading_destroy(struct reading *reading);

/* Take what there is of the file of @key: the caller's from then on; NULL: nothing. */
struct reading *file_cache_take(struct file_cache *cache, const struct parse_key *key);

/*
 * Put @reading, which has grown by @grown bytes, in the cache, which owns it then. Of more than
 * nr_files the one not used for longest goes; where the process has more than FILE_CACHE_BYTES in
 * use, the largest: better read that one anew than all others.
 */
void file_cache_put(struct file_cache *cache, struct reading *reading, size_t grown);

/* Drop what was not asked about for FILE_CACHE_AGE_S: an agent's workers live for weeks. */
void file_cache_age(struct file_cache *cache);
/* The same of a worker that rests, which keeps no more than FILE_CACHE_REST_BYTES: the largest
 * files go first. */
void file_cache_rest(struct file_cache *cache);

bool file_cache_is_empty(const struct file_cache *cache);

/* Bytes of the heap that are in use. With sanitizers 0: then the number of files alone is bounded.
 */
size_t file_cache_heap_bytes(void);
