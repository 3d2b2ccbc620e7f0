/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that keeps rights which its parent gives up, for a list of small tasks fixed at
 * its start. The parent can request a task by number, with a number as argument, and nothing else.
 * The child reads only these numbers, closes every descriptor but its own, and ends with its parent
 * in any case.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vector.h"

/* Perform one task; returns 0 or a negative errno. Runs in the helper, on its copy of @ctx. */
typedef int (*helper_fn)(void *ctx);

/* The same with an argument from the parent, which it may not trust; *ret_fd goes to the parent,
 * and is closed here. */
typedef int (*helper_make_fn)(void *ctx, uint64_t arg, int *ret_fd);

struct helper_task {
	helper_fn run; /* or make */
	helper_make_fn make;
	void *ctx; /* borrowed; as it is when the helper starts */
	int fd;	   /* borrowed: stays open in the helper; -1: none needed */
};

struct privileged_helper {
	VECTOR(struct helper_task) tasks;
	int socket; /* owned; -1: not started */
	pid_t pid;  /* 0: not started */
};

#define HELPER_NONE                \
	(struct privileged_helper) \
	{                          \
		.socket = -1       \
	}

/* Put a task on the list, before the helper starts. Returns its number or -ENOMEM. */
FPL_MUST_CHECK int helper_add(struct privileged_helper *helper, helper_fn run, void *ctx, int fd);

/* The same of a task with an argument, that makes a descriptor. */
FPL_MUST_CHECK int helper_add_make(struct privileged_helper *helper, helper_make_fn make, void *ctx,
				   int fd);

/*
 * Start the helper; no effect without tasks. It first calls @reduce, to give up the rights that the
 * tasks do not need, and ends if that fails. To be called while the process has one thread. Errors:
 * -EAGAIN, -ENOMEM, -EMFILE.
 */
FPL_MUST_CHECK int helper_start(struct privileged_helper *helper, int (*reduce)(void),
				struct fpl_err *err);

/* Perform @task in the helper and wait. Returns its result, or -ECHILD without a helper. By any
 * thread. */
int helper_do(struct privileged_helper *helper, int task);
/* The same of one of helper_add_make(): on success *ret_fd is the caller's. */
FPL_MUST_CHECK int helper_make(struct privileged_helper *helper, int task, uint64_t arg,
			       int *ret_fd);

/* End the helper and wait for its end. Safe on HELPER_NONE, and twice. */
void helper_fini(struct privileged_helper *helper);
