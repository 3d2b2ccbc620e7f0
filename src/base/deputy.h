/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that keeps rights which its parent gives up, for a list of small tasks fixed at
 * its start. The parent can request a task by number, and nothing else. The child reads only these
 * numbers, closes every descriptor but its own, and ends with its parent in any case.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vector.h"

/* Perform one task; returns 0 or a negative errno. Runs in the deputy, on its copy of @ctx. */
typedef int (*deputy_fn)(void *ctx);

struct deputy_task {
	deputy_fn run;
	void *ctx; /* borrowed; as it is when the deputy starts */
	int fd;	   /* borrowed: stays open in the deputy; -1: none needed */
};

struct deputy {
	VECTOR(struct deputy_task) tasks;
	int socket; /* owned; -1: not started */
	pid_t pid;  /* 0: not started */
};

#define DEPUTY_NONE          \
	(struct deputy)      \
	{                    \
		.socket = -1 \
	}

/* Put a task on the list, before the deputy starts. Returns its number or -ENOMEM. */
FPL_MUST_CHECK int deputy_add(struct deputy *deputy, deputy_fn run, void *ctx, int fd);

/*
 * Start the deputy; no effect without tasks. It first calls @reduce, to give up the rights that the
 * tasks do not need, and ends if that fails. To be called while the process has one thread. Errors:
 * -EAGAIN, -ENOMEM, -EMFILE.
 */
FPL_MUST_CHECK int deputy_start(struct deputy *deputy, int (*reduce)(void), struct fpl_err *err);

/* Perform @task in the deputy and wait. Returns its result, or -ECHILD without a deputy. */
int deputy_do(struct deputy *deputy, int task);

/* End the deputy and wait for its end. Safe on DEPUTY_NONE, and twice. */
void deputy_fini(struct deputy *deputy);
