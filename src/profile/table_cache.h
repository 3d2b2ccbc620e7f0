/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled tables kept on disk from run to run: a folder with one file per table, named by its key
 * (profile/table_key.h), its contents as profile/table_entry.h says.
 *
 * The folder and its files are used only where they belong to the effective user and nobody else
 * may write or read them. Files are written aside, whole, and appear under their name at once:
 * readers need no lock, several fpless may share a folder, and one that is killed leaves nothing
 * that is read. Nothing is synced to disk: what a crash of the machine tears, the digest tells.
 * Beyond its size, files used longest ago go first. Whatever is wrong costs a line and the use of
 * the cache, never the run.
 *
 * All functions take NULL for a cache that is off, and may be called by several threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/table_key.h"
#include "unwind/table.h"

#define TABLE_CACHE_BYTES_DEFAULT (256ull << 20)

struct table_cache;

struct table_cache_stats {
	uint64_t hits;	 /* tables read */
	uint64_t misses; /* looked for, and not there or not usable */
	uint64_t bytes;	 /* of all its files */
};

/*
 * Open the folder @path, made if need be (its parent as well where @path is NULL), for at most
 * @max_bytes of tables. NULL: /var/cache/fpless of root, else $XDG_CACHE_HOME/fpless or
 * ~/.cache/fpless.
 *
 * Errors: -ENOENT there is no default place, or it cannot be made; -EPERM the folder belongs to
 * somebody else or is open to others; -ELOOP, -ENOTDIR it is no folder but a link or a file; those
 * of open(2); -ENOMEM.
 */
FPL_MUST_CHECK int table_cache_open(const char *path, uint64_t max_bytes, struct table_cache **ret,
				    struct fpl_err *err);
void table_cache_close(struct table_cache *cache);

/* The table kept under @key, the caller's to destroy; NULL: there is none that holds up. */
struct table *table_cache_load(struct table_cache *cache, const struct table_key *key);

/* Keep @table under @key. Cost: writes it; now and then reads the folder. */
void table_cache_store(struct table_cache *cache, const struct table_key *key,
		       const struct table *table);

/* Cost: reads the folder, unless a table was stored. All 0 for NULL. */
void table_cache_stats(struct table_cache *cache, struct table_cache_stats *ret);

/* Where it is; "" for NULL. */
const char *table_cache_path(const struct table_cache *cache);
