/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache on disk, kept from run to run: a folder with one file per entry, named by a digest of the
 * entry's inputs. Several kinds of entries share the folder and its budget; the users of each kind
 * define its bytes, and check them.
 *
 * The folder and its files are used only where they belong to the effective user and no other user
 * may write or read them. Files are written aside, whole, and appear under their name at once:
 * readers need no lock, several fpless may share a folder, and one that is killed leaves nothing
 * that is read. Nothing is synced to disk: what a crash of the machine tears, a digest in the entry
 * has to tell. Beyond the budget, files used longest ago go first. Whatever is wrong costs a line
 * and the use of the cache, never the run.
 *
 * All functions take NULL, or a cache that is not open, for one that is off, and may be called by
 * several threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/cache_folder.h"
#include "base/err.h"

#define DISK_CACHE_BYTES_DEFAULT (256ull << 20)

/* Counted apart. */
enum disk_cache_kind { DISK_CACHE_TABLES, DISK_CACHE_NAMES, DISK_CACHE_KIND_COUNT };

struct disk_cache;

struct disk_cache_stats {
	uint64_t hits;	 /* entries read */
	uint64_t misses; /* looked for, and not there or not usable */
	uint64_t bytes;	 /* of all files, of whatever kind */
};

/*
 * Create a cache that is off until it is opened: in the folder @path, borrowed; NULL:
 * /var/cache/fpless for root, else $XDG_CACHE_HOME/fpless or ~/.cache/fpless. @max_bytes: limit for
 * all its files; 0: read only. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int disk_cache_create(const char *path, uint64_t max_bytes, struct disk_cache **ret,
				     struct fpl_err *err);
void disk_cache_destroy(struct disk_cache *cache);

/*
 * Open the folder, with the rights in force at this moment, before any other thread uses the cache.
 * Create it if needed and not read only (the default one with its parent). No effect if it is open.
 *
 * Errors: -ENOENT there is no default place, or it cannot be made; -EPERM the folder belongs to
 * another user, or others may use it; -ELOOP, -ENOTDIR it is no folder but a link or a file; those
 * of open(2).
 */
FPL_MUST_CHECK int disk_cache_open(struct disk_cache *cache, struct fpl_err *err);

/*
 * The same for a caller that goes on without a cache: an error costs a line that says that @what is
 * not kept.
 */
void disk_cache_try_open(struct disk_cache *cache, const char *what);
bool disk_cache_is_open(const struct disk_cache *cache);

/* A file that is read or written. */
struct disk_cache_file {
	enum disk_cache_kind kind;
	struct cache_name name;
	uint64_t size;
	int fd;
	struct stat stat;	/* of one that is read */
	struct cache_file made; /* one that is written */
};

/*
 * Open the entry @kind under @digest [CACHE_NAME_SIZE / 2] for reading: file->fd, of file->size
 * bytes, until disk_cache_end_read(). Errors: -ENOENT no entry; -EPERM others could have written
 * it; those of open(2).
 */
FPL_MUST_CHECK int disk_cache_begin_read(struct disk_cache *cache, enum disk_cache_kind kind,
					 const uint8_t *digest, struct disk_cache_file *ret,
					 struct fpl_err *err);

/*
 * End reading, also of an entry that could not be opened. @code 0: it was used; -ESTALE another
 * version wrote it; -ENOMEM; any other: it is damaged, as @err says.
 */
void disk_cache_end_read(struct disk_cache *cache, struct disk_cache_file *file, int code,
			 const struct fpl_err *err);

/*
 * Begin the entry @kind under @digest, of @size bytes: they are for the caller to write to
 * file->fd, until disk_cache_end_write(). Returns false if the entry should not be kept: there is
 * no room, or it would take more than half of the cache. Cost: now and then reads the folder.
 */
bool disk_cache_begin_write(struct disk_cache *cache, enum disk_cache_kind kind,
			    const uint8_t *digest, uint64_t size, struct disk_cache_file *ret);

/* Publish the entry. With a @code other than 0 of the writing it is dropped, and this run keeps no
 * further entries. */
void disk_cache_end_write(struct disk_cache *cache, struct disk_cache_file *file, int code);

/* Cost: reads the folder, unless that was done before. All 0 for a cache that is off. */
void disk_cache_stats(struct disk_cache *cache, enum disk_cache_kind kind,
		      struct disk_cache_stats *ret);

/* Path of the folder; "" for a cache that is off. */
const char *disk_cache_path(const struct disk_cache *cache);
/* Limit of its size. */
uint64_t disk_cache_max_bytes(const struct disk_cache *cache);
