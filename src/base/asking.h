/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that answers one question: fpless query, executed with the words of the question. It
 * has none of our sockets, a limit of time, memory and bytes, and ends with its answer: so the
 * process that reads requests never reads a store, and what one question took is given back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define ASKING_S	    20u		 /* the answer comes within so long */
#define ASKING_CPU_S	    10u		 /* of that */
#define ASKING_MEMORY	    (384u << 20) /* bytes of memory of its own */
#define ASKING_ANSWER_BYTES (64u << 20)
#define ASKING_SAID_BYTES   400u

struct asking {
	pid_t pid;
	int end_fd;    /* owned: a pidfd, readable when the process has ended; -1: none */
	int answer_fd; /* owned: a file of memory, read from its beginning */
	int said_fd;   /* owned: the same: messages */
	uint64_t deadline_ns;
};

#define ASKING_NONE ((struct asking){ .end_fd = -1, .answer_fd = -1, .said_fd = -1 })

/*
 * Execute @program with @words (the first is its verb, NULL ends them). Errors: -EMFILE, -EAGAIN,
 * -ENOMEM and others of fork(2), memfd_create(2), pidfd_open(2).
 */
FPL_MUST_CHECK int asking_start(const char *program, char *const *words, struct asking *ret,
				struct fpl_err *err);

/*
 * Has it ended? One whose time is over is ended. Then *ret_status is that of HTTP: 200 answer_fd
 * has the answer, 400 the question was wrong, 404 there are no samples, 413 the answer is too
 * large, 500, 503 it took too long; and @said why, in a line.
 */
bool asking_has_ended(struct asking *asking, uint64_t now_ns, unsigned *ret_status,
		      char said[ASKING_SAID_BYTES]);

/* End it where it runs, and give back what it has. Safe twice, and on ASKING_NONE. */
void asking_fini(struct asking *asking);
