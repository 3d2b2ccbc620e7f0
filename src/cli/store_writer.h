/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that writes a store: it opens the folder before rights are given up, then gives
 * up its own capabilities but stays the user it is, and takes recordings as files of memory, one at
 * a time. A hostile store never meets the rights of a run, and a disk that is slow keeps no window
 * from being named.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "recording/recording.h"
#include "store/store.h"

struct store_writer_options {
	const char *folder; /* of the store */
	const struct store_limits *limits;
	const char *labels;  /* as of store_insert() */
	const char *metrics; /* the file of store_writer_put_metrics(); NULL: none */
};

struct store_writer {
	int socket; /* owned; -1: not started */
	pid_t pid;
	uint64_t store_bytes; /* as of the last answer */
};

#define STORE_WRITER_NONE ((struct store_writer){ .socket = -1 })

/*
 * Start it. To be called while the process has one thread. Errors: those of store_open_to_write(),
 * fork(2), socketpair(2).
 */
FPL_MUST_CHECK int store_writer_start(const struct store_writer_options *options,
				      struct store_writer *ret, struct fpl_err *err);

/*
 * Have it put in the recording that is in the file @fd, which is read from its beginning; @name is
 * for messages. Waits for that. Errors: those of recording_read() and store_insert(); -EPIPE it has
 * ended.
 */
FPL_MUST_CHECK int store_writer_put_file(struct store_writer *writer, const char *name, int fd,
					 struct fpl_err *err);

/* The same of @recording. */
FPL_MUST_CHECK int store_writer_put(struct store_writer *writer, const struct recording *recording,
				    struct fpl_err *err);

/*
 * Have it put @text in place of the file of metrics, whole, readable for all users. Waits for that.
 * Errors: those of output_file_open() and output_file_commit(); -EPIPE it has ended.
 */
FPL_MUST_CHECK int store_writer_put_metrics(struct store_writer *writer, const char *text,
					    struct fpl_err *err);

/* All is put in: wait until it has closed the store. Safe on STORE_WRITER_NONE, and twice. */
void store_writer_end(struct store_writer *writer);
