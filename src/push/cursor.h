/* SPDX-License-Identifier: Apache-2.0 */
/* How far a target has got, in a file of its own: what was sent stays sent through any end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cursor {
	uint64_t t0, t1; /* of the last window, ns since 1970 */
	uint64_t done;	 /* profiles of it, in their order; CURSOR_ALL: it is behind us */
};

#define CURSOR_ALL UINT64_MAX

struct cursor_file {
	int folder_fd; /* owned */
	int lock_fd;   /* owned: the one process that sends there */
	char *url;     /* owned: whose cursor it is */
	char *name;    /* owned: in the folder */
	char *shown;   /* owned: its path, for messages */
};

#define CURSOR_FILE_NONE ((struct cursor_file){ .folder_fd = -1, .lock_fd = -1 })

/*
 * Open the cursor of @target at @url for @tenant in @folder, which is made where it is missing, and
 * keep others from it. Errors: -EBUSY another process sends there; those of mkdir(2) and open(2).
 */
FPL_MUST_CHECK int cursor_open(const char *folder, const char *target, const char *url,
			       const char *tenant, struct cursor_file *ret, struct fpl_err *err);
void cursor_close(struct cursor_file *file);

/* *ret_known: something was sent there before; else *ret is untouched. Errors: -EBADMSG it is no
 * such file; those of open(2) and read(2). */
FPL_MUST_CHECK int cursor_read(const struct cursor_file *file, struct cursor *ret, bool *ret_known,
			       struct fpl_err *err);

/* Replace it. With @safely it is on the disk afterwards. Errors: those of open(2), write(2). */
FPL_MUST_CHECK int cursor_write(const struct cursor_file *file, const struct cursor *cursor,
				bool safely, struct fpl_err *err);

/* Read the text of such a file, of @url. Returns false where it is something else. Pure. */
bool cursor_parse(const char *text, const char *url, struct cursor *ret);
