/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a probe is set in. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct opener;

struct probe_file {
	int fd; /* owned; as from opener_take() */
	char path[PATH_MAX];
};

/*
 * Open the file that @name means: a path, if it has a slash; else a file that one of the processes
 * @pids has mapped, by its name or soname; a library in one of the usual folders of ld.so; a
 * program in PATH. Symbolic links are followed where they are root's or ours
 * (obj/trusted_path.h). Makes no thread: may be called before rights are given up. @ret: the caller
 * closes its fd. Errors: -ENODATA there is no such file, it is no regular one or may not be read,
 * with a line that says so.
 */
FPL_MUST_CHECK int probe_file_open(struct opener *opener, const char *name, const pid_t *pids,
				   size_t nr_pids, struct probe_file *ret, struct fpl_err *err);

/* The same of a file that process @pid has mapped, and of no other. Errors: -ENOENT it has none;
 * those of opener_take(). */
FPL_MUST_CHECK int probe_file_open_mapped(struct opener *opener, const char *name, pid_t pid,
					  struct probe_file *ret);

#define PROBE_FILES_MAX 1024u /* of a process that are looked at */

/*
 * Call @fn for each file that process @pid has mapped to execute, in the order of addresses; @fn
 * takes over @file->fd, and another value than 0 ends it and is returned. Errors: -ESRCH no process
 * can be asked.
 */
FPL_MUST_CHECK int probe_file_each_mapped(struct opener *opener, pid_t pid,
					  int (*fn)(void *ctx, struct probe_file *file), void *ctx);
