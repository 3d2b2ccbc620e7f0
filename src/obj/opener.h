/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open a target's files without waiting for them. A file system served by a process or another
 * machine may never answer, and its caller then waits in the kernel for ever, even after SIGKILL.
 *
 * So only files of local file systems are opened here (obj/mounts.h). For all others a place is
 * held (O_PATH), which needs no answer: neither when it is opened, nor by file_stat(), nor when it
 * is closed. An opener, one process for each such file system, does the rest, and is left behind if
 * it never returns; an opened file comes in an envelope. Openers are forked by a process that waits
 * for no file system either.
 *
 * A file system that does not answer in time is not asked again for ten minutes, and then only if
 * its opener has ended meanwhile; one log line says so, with the cost. 16 openers live at most,
 * those of silent ones not counted. May be used by several threads. All functions take NULL for an
 * opener: then everything is opened here, as for files that the user named.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* Limits of waiting: for the first file system that does not answer; then for any other that has
 * answered before, and for one that has not; and for all of them together. */
#define OPENER_FIRST_MS 2000u
#define OPENER_KNOWN_MS 500u
#define OPENER_NEXT_MS	100u
#define OPENER_ALL_MS	3000u

struct opener;

/* A waiting caller calls this every 10 ms or so; @pause may be NULL. */
struct opener_wait {
	void (*pause)(void *ctx);
	void *ctx;
};

/*
 * Forks the process that makes openers: before there are threads. Of this process's capabilities it
 * keeps those to read files and /proc of others; none without @has_rights, for a caller that will
 * give up its own. Errors: socketpair(2), fork(2); -ENOMEM.
 */
FPL_MUST_CHECK int opener_create(bool has_rights, struct opener **ret, struct fpl_err *err);
/* Ends all openers, without waiting for any. */
void opener_destroy(struct opener *opener);

/* Is the file open at @fd only a place (O_PATH)? */
bool opener_holds_place(int fd);

/*
 * Take the regular file that @path_fd (O_PATH) stands for: *ret_fd, the caller's, is open for
 * reading if its file system is local, else a place. @pid: a process in whose mount namespace it
 * was found; 0: our own. *ret_stat: file_stat() of it. Errors: -ENOEXEC no regular file; those of
 * open(2).
 */
FPL_MUST_CHECK int opener_take(struct opener *opener, pid_t pid, int path_fd, int *ret_fd,
			       struct stat *ret_stat);

/*
 * Have an opener open the file of the place @path_fd for reading. It comes in an envelope:
 * *ret_sock, the caller's, a socket with one message that holds the descriptor (envelope_open()).
 * The file must never be taken out here: closing it asks. Errors: -ETIMEDOUT its file system did
 * not answer, now or before; -EPIPE there is no opener; those of open(2).
 */
FPL_MUST_CHECK int opener_envelope(struct opener *opener, int path_fd,
				   const struct opener_wait *wait, int *ret_sock);

/* An untrusted path, and the folder it begins in. */
struct opener_path {
	int folder_fd; /* borrowed, O_PATH; -1: the path is trusted */
	pid_t pid;     /* process with the folder's mount namespace; 0: ours */
	const char *path;
	uint64_t resolve; /* of openat2(2); not with is_trusted */
	int flags;	  /* besides O_PATH and O_CLOEXEC; not with is_trusted */
	bool is_trusted;  /* as trusted_path_open() does it */
};

/*
 * Hold the place that @path leads to (O_PATH): *ret_fd is the caller's. The caller's thread walks
 * as long as the path stays in the file system where it begins and that is local, or the kernel has
 * each step in its cache (RESOLVE_CACHED); otherwise an opener walks. Errors: -ETIMEDOUT a file
 * system on the way did not answer, now or before; those of openat2(2).
 */
FPL_MUST_CHECK int opener_walk(struct opener *opener, const struct opener_path *path,
			       const struct opener_wait *wait, int *ret_fd);
/* The same for paths that need no opener. Errors: -EXDEV the path needs one. */
FPL_MUST_CHECK int opener_walk_here(struct opener *opener, const struct opener_path *path,
				    int *ret_fd);

/*
 * Is @path known to lead to a file, or to none, without asking a file system that may not answer?
 * True only if the kernel has each step in memory and the mount is of a local file system. Asks
 * no opener.
 */
bool opener_path_is_local(const char *path);

/* Take the file out of an envelope. Errors: -EBADMSG it holds no file; of recvmsg(2). */
FPL_MUST_CHECK int envelope_open(int sock, int *ret_fd);

/* For callers that wait for a file system in another way: for a worker that reads its file. */

/* Time that the file system of device @dev may be waited for, in ns; 0: no longer. */
uint64_t opener_patience_ns(struct opener *opener, uint64_t dev);
/* Note a wait of @ns, with or without an answer. */
void opener_waited(struct opener *opener, uint64_t dev, uint64_t ns, bool has_answered);
