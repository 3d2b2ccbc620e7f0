/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept on disk from run to run: a folder with one file per entry, named by a digest of what
 * it was made from. Several kinds of entries share the folder and its budget; what their bytes mean
 * is for those who keep them to say, and to check.
 *
 * The folder and its files are used only where they belong to the effective user and nobody else
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
 * A cache that is off until it is opened: in the folder @path, borrowed; NULL: /var/cache/fpless of
 * root, else $XDG_CACHE_HOME/fpless or ~/.cache/fpless. @max_bytes: of all its files; 0: it is only
 * read. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int disk_cache_create(const char *path, uint64_t max_bytes, struct disk_cache **ret,
				     struct fpl_err *err);
void disk_cache_destroy(struct disk_cache *cache);

/*
 * Open the folder, made if need be and if it is not only read (its parent as well where it is the
 * default one): with the rights in force now, before any other thread uses it. On one that is open:
 * nothing.
 *
 * Errors: -ENOENT there is no default place, or it cannot be made; -EPERM the folder belongs to
 * somebody else or is open to others; -ELOOP, -ENOTDIR it is no folder but a link or a file; those
 * of open(2).
 */
FPL_MUST_CHECK int disk_cache_open(struct disk_cache *cache, struct fpl_err *err);

/* The same for who goes on without: what is wrong costs a line that says @what is not kept. */
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
 * bytes, until disk_cache_end_read(). Errors: -ENOENT there is none; -EPERM others could have
 * written it; those of open(2).
 */
FPL_MUST_CHECK int disk_cache_begin_read(struct disk_cache *cache, enum disk_cache_kind kind,
					 const uint8_t *digest, struct disk_cache_file *ret,
					 struct fpl_err *err);

/*
 * Say what became of it, also where it could not be opened: @code 0: it was used; -ESTALE another
 * version wrote it; -ENOMEM; else it does not hold up, as @err says.
 */
void disk_cache_end_read(struct disk_cache *cache, struct disk_cache_file *file, int code,
			 const struct fpl_err *err);

/*
 * Begin the entry @kind under @digest, of @size bytes: they are for the caller to write to
 * file->fd, until disk_cache_end_write(). Returns false where it is not to be kept: there is no
 * room, or it takes more than half of it. Cost: now and then reads the folder.
 */
bool disk_cache_begin_write(struct disk_cache *cache, enum disk_cache_kind kind,
			    const uint8_t *digest, uint64_t size, struct disk_cache_file *ret);

/* Have it appear; with a @code other than 0 of the writing it is dropped, and nothing more is kept
 * in this run. */
void disk_cache_end_write(struct disk_cache *cache, struct disk_cache_file *file, int code);

/* Cost: reads the folder, unless that was done before. All 0 for one that is off. */
void disk_cache_stats(struct disk_cache *cache, enum disk_cache_kind kind,
		      struct disk_cache_stats *ret);

/* Where it is; "" for one that is off. */
const char *disk_cache_path(const struct disk_cache *cache);
/* What it may take. */
uint64_t disk_cache_max_bytes(const struct disk_cache *cache);
