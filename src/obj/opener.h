/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what belongs to a target without waiting for it. A file system that asks somebody else (a
 * process, another machine) may never answer, and who asked it then waits in the kernel for ever,
 * SIGKILL or not.
 *
 * So files of local file systems are opened here (obj/mounts.h), and of all others nothing but a
 * place is held (O_PATH), which asks nobody: neither while it is opened, nor by file_stat(), nor
 * when it is closed. What would ask is done by an opener, a process for each such file system,
 * which is left behind if it does not come back; an opened file comes in an envelope. Openers are
 * forked by a process that asks nobody either.
 *
 * A file system that does not answer in time is not asked again in the run. Said once, with what it
 * cost. May be used by several threads. All functions take NULL for an opener: then everything is
 * opened here, as for files that the user himself has named.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* How long the first file system that does not answer is waited for; then any other that has
 * answered before, and one that has not; how long all of them together. */
#define OPENER_FIRST_MS 2000u
#define OPENER_KNOWN_MS 500u
#define OPENER_NEXT_MS	100u
#define OPENER_ALL_MS	3000u

struct opener;

/* Whoever waits goes on with this meanwhile, every 10 ms or so; @pause may be NULL. */
struct opener_wait {
	void (*pause)(void *ctx);
	void *ctx;
};

/*
 * Forks the process that makes openers: before there are threads. Of this process's capabilities it
 * keeps those to read files and /proc of others; none where @has_rights is not set, as for one that
 * will give up its own. Errors: socketpair(2), fork(2); -ENOMEM.
 */
FPL_MUST_CHECK int opener_create(bool has_rights, struct opener **ret, struct fpl_err *err);
/* Ends all openers, without waiting for any. */
void opener_destroy(struct opener *opener);

/* Is the file open at @fd one of which only a place is held? */
bool opener_holds_place(int fd);

/*
 * Take the regular file that @path_fd (O_PATH) stands for: *ret_fd, the caller's, is open for
 * reading where its file system is local, else a place. @pid: a process in whose mount namespace it
 * was found; 0: our own. *ret_stat: file_stat() of it. Errors: -ENOEXEC no regular file; those of
 * open(2).
 */
FPL_MUST_CHECK int opener_take(struct opener *opener, pid_t pid, int path_fd, int *ret_fd,
			       struct stat *ret_stat);

/*
 * Have the file of the place @path_fd opened for reading. It comes in an envelope: *ret_sock, the
 * caller's, a socket with one message that holds the descriptor (envelope_open()). The file must
 * never be taken out here: closing it asks. Errors: -ETIMEDOUT its file system did not answer, now
 * or before; -EPIPE there is nobody to open it; those of open(2).
 */
FPL_MUST_CHECK int opener_envelope(struct opener *opener, int path_fd,
				   const struct opener_wait *wait, int *ret_sock);

/* A path that a stranger has said, and where it begins. */
struct opener_path {
	int folder_fd; /* borrowed, O_PATH; -1: the path is one of ours */
	pid_t pid;     /* in whose mount namespace the folder is; 0: ours */
	const char *path;
	uint64_t resolve; /* of openat2(2); not with is_trusted */
	int flags;	  /* besides O_PATH and O_CLOEXEC; not with is_trusted */
	bool is_trusted;  /* as trusted_path_open() does it */
};

/*
 * Hold the place that @path leads to (O_PATH): *ret_fd is the caller's. As long as the walk stays
 * in the file system where it begins, and that is local, or the kernel knows each step by heart
 * (RESOLVE_CACHED), it is gone here; else by an opener. Errors: -ETIMEDOUT a file system on the way
 * did not answer, now or before; those of openat2(2).
 */
FPL_MUST_CHECK int opener_walk(struct opener *opener, const struct opener_path *path,
			       const struct opener_wait *wait, int *ret_fd);
/* The same where no opener is needed. Errors: -EXDEV one would be. */
FPL_MUST_CHECK int opener_walk_here(struct opener *opener, const struct opener_path *path,
				    int *ret_fd);

/*
 * Is @path known to lead to a file, or to none, without asking a file system that may not answer?
 * True only where the kernel has each step in memory and the mount is of a local file system. Asks
 * nobody.
 */
bool opener_path_is_local(const char *path);

/* Take the file out of an envelope. Errors: -EBADMSG there is none in it; of recvmsg(2). */
FPL_MUST_CHECK int envelope_open(int sock, int *ret_fd);

/* For whoever waits for a file system in another way: a worker that reads a file of it. */

/* How long may the file system of device @dev be waited for, in ns? 0: it is not asked any more. */
uint64_t opener_patience_ns(struct opener *opener, uint64_t dev);
/* It was waited for @ns, and has answered, or not. */
void opener_waited(struct opener *opener, uint64_t dev, uint64_t ns, bool has_answered);
