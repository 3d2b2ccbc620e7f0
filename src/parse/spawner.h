/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that makes workers: a fresh image of the program that has given up everything before
 * the first of them, so that a new one costs a fork of a small process and inherits nothing. It
 * reads no file, and it ends its workers itself: whoever asks for them may not be allowed to.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "parse/sandbox.h"

#define SPAWNER_VERB "parser-spawner" /* argv[1] of the program that becomes one */

enum spawner_op {
	SPAWNER_HIRE,	   /* with a socket: a worker for it; value of the answer: its pid */
	SPAWNER_HIRE_CALM, /* the same with the priority of any process */
	SPAWNER_BURY,	   /* end worker pid; value of the answer: its wait(2) status */
	SPAWNER_LEAVE,	   /* end worker pid, and do not wait for that */
};

struct spawner_request {
	uint32_t op; /* enum spawner_op */
	int32_t pid;
};

struct spawner_answer {
	int32_t code; /* 0 or -errno */
	int32_t value;
};

/* How many files may a worker keep that may have @nr_fds descriptors? */
static inline uint32_t spawner_nr_kept(uint32_t nr_fds)
{
	return nr_fds > SANDBOX_FDS_LEAST ? (nr_fds - SANDBOX_FDS_LEAST) / 3 : 0;
}

/* Runs on @control, a socket of bytes, until it is closed. The first answer comes unasked: whether
 * the sandbox holds; its value: how many descriptors a worker may have. Closes all other
 * descriptors. */
__attribute__((__noreturn__)) void spawner_main(int control);
