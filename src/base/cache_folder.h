/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of private files, each named by 64 hex digits: opened with distrust, written whole or
 * not at all, emptied by last use. Knows nothing of the files' contents.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

#define CACHE_NAME_SIZE 64u

struct cache_folder {
	char path[PATH_MAX]; /* for messages */
	int fd;
	uid_t owner;	/* of the folder, and of files in it */
	uid_t opener;	/* of files in it: who opened the folder */
	bool is_shared; /* with root's group, which reads the files */
};

struct cache_name {
	char text[CACHE_NAME_SIZE + 1]; /* lower-case hex */
};

/* A file being written, without a name yet. */
struct cache_file {
	int fd;
	char aside[40]; /* the name it has meanwhile; "": none */
};

/*
 * Open the folder @path; @make: create it with mode 0700 if missing. Root's folder may belong to
 * the user that root's runs switch to (run_user.h) and root's group, with mode 02750; with @make it
 * becomes so, unless it holds other files. Then that user writes it, and root without capabilities
 * reads it. Errors: -EPERM it belongs to another user, or others may use it; -ELOOP a symbolic
 * link; -ENOTDIR; those of mkdir(2), open(2). To be called while the process has one thread.
 */
FPL_MUST_CHECK int cache_folder_open(const char *path, bool make, struct cache_folder *ret,
				     struct fpl_err *err);
void cache_folder_close(struct cache_folder *folder);

/*
 * Open the file @name for reading; *ret_stat: its attributes. Returns a descriptor, or -ENOENT no
 * such file; -EPERM it is not a regular file of this user; those of open(2).
 */
FPL_MUST_CHECK int cache_folder_read(const struct cache_folder *folder,
				     const struct cache_name *name, struct stat *ret_stat,
				     struct fpl_err *err);

/* Begin a file: *ret is to be ended with cache_folder_commit. Errors: those of open(2). */
FPL_MUST_CHECK int cache_folder_create(const struct cache_folder *folder, struct cache_file *ret);

/*
 * Close @file and let it take the place of @name; NULL: drop it. Errors: those of close(2),
 * linkat(2) and rename(2); then it is gone.
 */
FPL_MUST_CHECK int cache_folder_commit(const struct cache_folder *folder, struct cache_file *file,
				       const struct cache_name *name);

/*
 * Add up the files of the folder. Over @max_bytes, remove those used longest ago (by mtime) until
 * at most @keep_bytes are left. Also remove temporary files of killed processes, older than an
 * hour. Files of other names do not count and are left alone. Returns the bytes that stay. Cost: a
 * stat per file.
 */
uint64_t cache_folder_trim(const struct cache_folder *folder, uint64_t max_bytes,
			   uint64_t keep_bytes);
