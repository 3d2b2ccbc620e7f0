/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file. It is written without a name in the folder of its target, or under a temporary
 * name if the file system has no nameless files, and takes the place of the target when whole: no
 * reader sees half a profile, and a run that is killed leaves nothing. It is opened before
 * sampling, so that a bad path costs no sample.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/privileged_helper.h"
#include "base/err.h"

struct output_file {
	FILE *stream;	 /* owned; NULL: not open. Borrowed where it is stdout */
	char *buffer;	 /* owned: the stream's, until that is closed; NULL: it has its own */
	char *path;	 /* owned: what the user called it */
	int folder_fd;	 /* owned, where there is a name: the folder it is in, by O_PATH */
	char *name;	 /* owned: what it becomes there; NULL: written in place */
	char *temporary; /* owned: its name until then; NULL: none */
	bool nameless;	 /* it has none */
	int fd;		 /* owned: by which a nameless one is found */

	struct privileged_helper *helper; /* borrowed; NULL: none */
	int place_task, drop_task;
	struct output_file *next; /* private: of those delegated */
};

/*
 * Open @path for writing; "-" is stdout. What exists and is no regular file (a pipe, a device) is
 * written in place. A symbolic link keeps being one: its target is replaced. The file gets the mode
 * of a new one, whatever it replaces. Its folder is found now, once: who moves it or puts a link in
 * its place afterwards changes nothing.
 *
 * Errors: those of open(2); -ESTALE the path led elsewhere a moment later; the message names the
 * path.
 */
FPL_MUST_CHECK int output_file_open(const char *path, struct output_file *ret, struct fpl_err *err);

/*
 * The same of a file that takes the place of whatever is called @name in the folder open at
 * @folder_fd (O_PATH will do), which stays the caller's: a link is not followed. @shown: the path
 * for messages.
 */
FPL_MUST_CHECK int output_file_open_in(int folder_fd, const char *name, const char *shown,
				       struct output_file *ret, struct fpl_err *err);

/* The name for messages: the path, or "stdout". Borrowed. */
const char *output_file_name(const struct output_file *file);

/*
 * Flush @stream, and say what the writes to it met, the last or any before: 0 or a negative errno.
 * A stream that has failed may hold a line more then.
 */
int output_stream_error(FILE *stream);

/*
 * Have @helper (must outlive the file) put the file in its place where this process will have lost
 * the right to. Before the helper starts; @file must stay where it is until it is committed or
 * aborted. Where a lack of memory ends the process (base/alloc.h), its temporary name goes. Errors:
 * -ENOMEM.
 */
FPL_MUST_CHECK int output_file_delegate(struct output_file *file, struct privileged_helper *helper,
					struct fpl_err *err);

/*
 * Flush and close, but leave the target alone: for outputs that are committed together. Errors as
 * output_file_commit().
 */
FPL_MUST_CHECK int output_file_close(struct output_file *file, struct fpl_err *err);

/*
 * Flush, sync nothing, close (unless it is closed) and put in place. Errors: what any write met;
 * the target is untouched and the temporary gone then.
 */
FPL_MUST_CHECK int output_file_commit(struct output_file *file, struct fpl_err *err);

/* Drop what was not committed. Safe after commit and on a zeroed struct. */
void output_file_abort(struct output_file *file);
