/* SPDX-License-Identifier: Apache-2.0 */
/* The processes behind an opener, and their protocol: for obj/opener*.c alone. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* To the process that makes openers. */
enum opener_order {
	OPENER_BEGIN, /* with a socket: start an opener for it; the answer: its pid, or -errno */
	OPENER_END,   /* end opener pid, without waiting for it; no answer */
};

struct opener_command {
	uint32_t order; /* enum opener_order */
	int32_t pid;
};

/* Requests to an opener. The answer is an int32_t, 0 or -errno, with a descriptor if it is 0. */
enum opener_op {
	OPENER_OPEN,	     /* with a place: open its file for reading, in an envelope */
	OPENER_WALK,	     /* with a folder, or without: walk the path from there to a place */
	OPENER_WALK_TRUSTED, /* a place, by trusted_path_open() */
};

struct opener_request {
	uint32_t op;	  /* enum opener_op */
	int32_t flags;	  /* O_NOFOLLOW, O_DIRECTORY; others have no effect */
	uint64_t resolve; /* of openat2(2), as the flags */
	char path[PATH_MAX];
};

/* Main function of the process that makes openers: runs on @control until it is closed; closes all
 * else. @has_rights: as for opener_create(). */
__attribute__((__noreturn__)) void opener_process_main(int control, bool has_rights);
