/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open the file behind a mapping of another process safely: the path may mean another file in the
 * process's mount namespace, or lead to a FIFO or a device.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "obj/opener.h"

enum mapped_file_source {
	MAPPED_FILE_EXACT, /* exactly the file mapped there: /proc/PID/map_files */
	MAPPED_FILE_ROOT,  /* what the path names in the process's root */
	MAPPED_FILE_PATH,  /* the file that the path names in our namespace: the process is gone */
};

struct mapped_file {
	int fd; /* owned by the holder of the struct; as from opener_take() */
	enum mapped_file_source source;
	struct stat stat;
};

/*
 * Open the file mapped at [@start, @end) of process @pid, which sees it as @path. Tries the sources
 * in the order above. The file may be another one than the caller heard of: by its path always, and
 * from map_files where something else has been mapped there since. The caller compares its build-id
 * or inode. @opener,
 *
 * Errors: -ENOENT nothing there; -ENOEXEC not a regular file; -ETIMEDOUT a file system did not
 * answer; else as open(2).
 */
FPL_MUST_CHECK int mapped_file_open(struct opener *opener, pid_t pid, uint64_t start, uint64_t end,
				    const char *path, struct mapped_file *ret, struct fpl_err *err);

/*
 * The first half of that: the place of the file mapped there, which identifies it; most files were
 * met before. Returns a descriptor (O_PATH), the caller's, or -errno. Cost: a third.
 */
FPL_MUST_CHECK int mapped_file_place(pid_t pid, uint64_t start, uint64_t end);
/* The second half: @place_fd is what the first has returned, and stays the caller's. */
FPL_MUST_CHECK int mapped_file_take(struct opener *opener, pid_t pid, int place_fd,
				    const char *path, struct mapped_file *ret, struct fpl_err *err);

/* The same by path alone: for a mapping that is known to be gone. */
FPL_MUST_CHECK int mapped_file_open_path(struct opener *opener, pid_t pid, const char *path,
					 struct mapped_file *ret, struct fpl_err *err);
