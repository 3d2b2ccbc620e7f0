/* SPDX-License-Identifier: Apache-2.0 */
/* The processes behind an opener, and what is said to them: for obj/opener*.c alone. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* To the process that makes openers. */
enum opener_order {
	OPENER_BEGIN, /* with a socket: an opener for it; the answer: its pid, or -errno */
	OPENER_END,   /* opener pid, which is not waited for; there is no answer */
};

struct opener_command {
	uint32_t order; /* enum opener_order */
	int32_t pid;
};

/* To an opener. The answer is an int32_t, 0 or -errno, with a descriptor where it is 0. */
enum opener_op {
	OPENER_OPEN, /* with a place: its file, for reading, in an envelope */
	OPENER_WALK, /* with a folder, or none: a place, what the path leads to from there */
	OPENER_WALK_TRUSTED, /* a place, by trusted_path_open() */
};

struct opener_request {
	uint32_t op;	  /* enum opener_op */
	int32_t flags;	  /* O_NOFOLLOW, O_DIRECTORY; others have no effect */
	uint64_t resolve; /* of openat2(2), as the flags */
	char path[PATH_MAX];
};

/* The process that makes openers: runs on @control until it is closed; closes all else.
 * @has_rights: as opener_create() has it. */
__attribute__((__noreturn__)) void opener_process_main(int control, bool has_rights);
