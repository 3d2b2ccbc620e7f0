/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled table as the bytes of a file of the cache: a header, then the image. Pure: knows no
 * file. A version of the compiler reads its own entries alone, so the format needs no
 * compatibility.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "profile/table_key.h"
#include "unwind/table.h"

#define TABLE_ENTRY_FORMAT	  1u
#define TABLE_ENTRY_COMPILER_SIZE 32u
#define TABLE_ENTRY_DIGEST_SIZE	  16u

struct table_entry_header {
	char magic[8];				  /* "fpltable" */
	uint32_t format;			  /* TABLE_ENTRY_FORMAT */
	uint32_t header_size;			  /* of this struct */
	char compiler[TABLE_ENTRY_COMPILER_SIZE]; /* digest of the sources that made it, hex */
	struct table_key key;
	uint32_t image_bytes; /* which follow the header; the file ends with them */
	uint32_t rules_off, dir_off, nr_pages;
	uint64_t first_vaddr, entry_vaddr;
	struct table_stats stats;
	struct script_facts script;
	uint8_t digest[TABLE_ENTRY_DIGEST_SIZE]; /* BLAKE2b-128 of all before it and of the image */
};
_Static_assert(sizeof(struct table_entry_header) == 464, "a format of the cache's files");

/* Describe @table under @key, digest included. Cost: reads the image once. */
void table_entry_describe(const struct table *table, const struct table_key *key,
			  struct table_entry_header *ret);

/* Read exactly @size bytes from @off on. Returns 0 or a negative errno. */
typedef int (*table_entry_read_fn)(void *ctx, uint64_t off, void *buf, size_t size);

/*
 * Read the entry of @key that @read hands out, @size bytes as a whole, into a table of its own.
 *
 * Errors: -ESTALE it was made by another version, which is no fault; -EBADMSG it is torn, damaged,
 * of another key, or no table that lookups may rely on (message says which); -ENOMEM; those of
 * @read. Cost: reads it once, and goes over it twice in memory.
 */
FPL_MUST_CHECK int table_entry_read(const struct table_key *key, uint64_t size,
				    table_entry_read_fn read, void *ctx, struct table **ret,
				    struct fpl_err *err);
