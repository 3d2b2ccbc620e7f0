/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that keeps rights its parent is about to give up, for a list of small things that
 * is fixed when it starts: the parent can ask for the third of them to be done, and for nothing
 * else. It reads only the numbers of tasks, closes every descriptor but its own, and ends with its
 * parent, however that ends.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vector.h"

/* Does one thing; returns 0 or a negative errno. Runs in the deputy, on its copy of @ctx. */
typedef int (*deputy_fn)(void *ctx);

struct deputy_task {
	deputy_fn run;
	void *ctx; /* borrowed; as it is when the deputy starts */
	int fd;	   /* borrowed: stays open in the deputy; -1: needs none */
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
 * Start it; no effect without tasks. @reduce is called in it first, to give up the rights that the
 * tasks do not need; where that fails the deputy ends. To be called while the process has one
 * thread. Errors: -EAGAIN, -ENOMEM, -EMFILE.
 */
FPL_MUST_CHECK int deputy_start(struct deputy *deputy, int (*reduce)(void), struct fpl_err *err);

/* Have @task done and wait for it. Returns what it returned, -ECHILD where there is no deputy. */
int deputy_do(struct deputy *deputy, int task);

/* End it and wait for its end. Safe on DEPUTY_NONE, and twice. */
void deputy_fini(struct deputy *deputy);
