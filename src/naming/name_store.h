/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are known, of files asked about: in memory, and from run to run in the cache on disk
 * (base/disk_cache.h), an entry (naming/name_entry.h) per file. For one thread. What is wrong with
 * the disk costs a question, never a name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk_cache.h"
#include "base/id_table.h"
#include "naming/name_entry.h"

/* Entries are written and dropped when they take more memory. */
#define NAME_STORE_BYTES_MAX (32u << 20)

struct name_file {
	struct name_key key;
	struct name_entry entry;
	bool is_known; /* the entry is of this file as it is, and of its debug file */
	bool is_new;   /* the disk does not have it so */
};

struct name_store {
	struct disk_cache *cache; /* borrowed; NULL: nothing is kept */
	struct opener *opener;	  /* borrowed; may be NULL */
	bool mangled;		  /* names are as files have them */
	struct name_file *files;  /* owned [nr] */
	size_t nr, room;
	struct id_table table; /* of files, by key */
	size_t bytes;	       /* of their entries */
	uint64_t nr_known;     /* addresses whose name was known */
	uint64_t nr_asked;     /* the others */
};

/* Writes what is new. */
void name_store_fini(struct name_store *store);
/* Write what is new to disk, and go on. */
void name_store_write(struct name_store *store);

/*
 * Find the entry of the file open at @fd, seen as @path; NULL: it can have no entry. Valid until
 * the next call. Cost: at first sight it is read from disk.
 */
struct name_file *name_store_find(struct name_store *store, int fd, const char *path);

/*
 * Add what was learnt of @file, from name_store_find() with the same @fd and @path, by a search for
 * its debug file that was made as @search before: the names @places for @vaddrs [@nr], ascending;
 * that it @has_no_lines. Nothing happens where the file or what the search meets is another by now.
 */
void name_store_add(struct name_store *store, struct name_file *file, int fd, const char *path,
		    const struct name_search *search, const uint64_t *vaddrs,
		    const struct symbol_place *places, size_t nr, bool has_no_lines);
