/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdwfl as the judge of a walk: the same registers, the same stack bytes, the same files. Live
 * memory is never read.
 */
#pragma once

#include <stdbool.h>

#include <elfutils/libdwfl.h>

#include "diff/oracle/walk_reader.h"

enum { UNWOUND_MAX = 4096 };

/* A process's mappings as libdwfl sees them. */
struct unwinder {
	Dwfl *dwfl; /* owned */
	const struct walk_mapset *mapset;
	const struct walk *walk; /* being unwound */
	struct unwound *result;	 /* likewise */
};

struct unwound {
	uint64_t pc[UNWOUND_MAX]; /* [nr], leaf first, as read */
	bool exact[UNWOUND_MAX];  /* libdw's "activation": the pc was interrupted, not called */
	size_t nr;
	const char *error; /* NULL: it came to an end; else libdw's words */
	bool left_stack;   /* memory outside the copy was asked for */
};

/* Errors: -ENOMEM; -EIO libdwfl does not take the process. */
FPL_MUST_CHECK int unwinder_create(const struct walk_reader *reader,
				   const struct walk_mapset *mapset, struct unwinder **ret,
				   struct fpl_err *err);
void unwinder_destroy(struct unwinder *unwinder);

/* Unwind @walk, which belongs to the unwinder's mapset. */
void unwinder_run(struct unwinder *unwinder, const struct walk *walk, struct unwound *ret);

/* Is there CFI for @pc (@exact: not a return address)? Without CFI libdw guesses by rbp. */
bool unwinder_has_cfi(struct unwinder *unwinder, uint64_t pc, bool exact);

/* "file+0xvaddr symbol" of @pc, for messages; cut to @size. */
void unwinder_name(struct unwinder *unwinder, uint64_t pc, char *text, size_t size);
