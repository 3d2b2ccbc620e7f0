/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/maps as hostile text: a process chooses the paths in it, and there may be tens of
 * thousands of lines. proc(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PROC_MAPS_SIZE_MAX (64u << 20) /* limit of bytes of text; the rest is not read */

struct proc_map {
	uint64_t start, end; /* runtime addresses, [start, end) */
	uint64_t file_off;
	uint64_t inode; /* 0: no file */
	uint32_t dev_major, dev_minor;
	bool executable;
	bool deleted; /* the path ended in " (deleted)", which was cut off */
	/* "" for anonymous memory, "[vdso]", or a path with \012 decoded to newline; borrowed */
	const char *path;
};

/* Called per line in address order; another value than 0 ends the parse and is returned. */
typedef int (*proc_maps_fn)(const struct proc_map *map, void *ctx);

/*
 * Parse @size bytes of @text, which is changed (paths are terminated and decoded in place;
 * text[size] must be writable). Calls @fn for every well-formed line; counts the others in
 * *ret_bad (may be NULL). Cost: O(size).
 */
int proc_maps_parse(char *text, size_t size, proc_maps_fn fn, void *ctx, size_t *ret_bad);

/*
 * Read and parse /proc/@pid/maps; @pid may also be a thread's id. Errors: -ESRCH no such process;
 * -ENODATA it has no memory (kernel thread, zombie); -EACCES; -ETIMEDOUT the process blocks its
 * readers; -ENOMEM; @fn's result.
 */
FPL_MUST_CHECK int proc_maps_read(pid_t pid, proc_maps_fn fn, void *ctx, struct fpl_err *err);

/* The same for its maps, open at @fd by proc_files_open(), which gives -errno in its place. */
FPL_MUST_CHECK int proc_maps_read_from(pid_t pid, int fd, proc_maps_fn fn, void *ctx,
				       struct fpl_err *err);
