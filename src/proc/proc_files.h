/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files of /proc of another process without waiting for it. During an exec the kernel blocks
 * all readers of maps, map_files, root, stat and others. It closes the process's files then, and a
 * file system that does not answer to that blocks it for ever. Only SIGKILL ends such a wait: so a
 * thread of ours waits, which can be left behind, and ends with this process. A process that did
 * not answer is not asked again for PROC_FILES_FORGET_S. May be called by several threads; one is
 * served at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "obj/opener.h"

#define PROC_FILES_MAX	    3u
#define PROC_FILES_READ	    4096u /* bytes */
#define PROC_FILES_FORGET_S 10u

struct proc_file {
	const char *name; /* below /proc/PID; at most 63 bytes */
	int flags;	  /* of open(2), besides O_CLOEXEC */
	int fd;		  /* the caller's to close; -errno */
};

/*
 * Open @files [@nr], at most PROC_FILES_MAX, of process @pid. Errors: -ETIMEDOUT it did
 * not answer, now or lately: none is open then; -ENOMEM. Cost: waking a thread, some 10 us.
 */
FPL_MUST_CHECK int proc_files_open(pid_t pid, struct proc_file *files, size_t nr);

/* One of them. Returns the descriptor, -ETIMEDOUT, or what open(2) says. */
FPL_MUST_CHECK int proc_file_open(pid_t pid, const char *name, int flags);

/*
 * Read up to @size bytes, at most PROC_FILES_READ, at @off of a file: of mem, too, whose pages may
 * be on a file system that does not answer. It is waited for @most_ns at most, where that is less
 * than for others. Returns the number of bytes, or -errno as above.
 */
FPL_MUST_CHECK ssize_t proc_file_read(pid_t pid, const char *name, uint64_t off, void *to,
				      size_t size, uint64_t most_ns);
