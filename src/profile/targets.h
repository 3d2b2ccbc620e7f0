/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets given by number or place: the processes of -p, the threads of -t, and the moment when
 * the last of them has gone; the cgroup of --cgroup. Numbers are as the user sees them; the kernel
 * side gets the same, which kernel_side_target and kernel_side_thread alone would have to change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "profile/engine.h"
#include "profile/kernel_side.h"
#include "profile/tracker.h"

struct target_process {
	pid_t pid;
	int fd; /* owned: a pidfd; -1: there was no such process */
};

struct target_thread {
	pid_t tid, pid;
};

struct targets {
	struct target_process *processes; /* owned [nr_processes] */
	size_t nr_processes, nr_alive;
	struct target_thread *threads; /* owned [nr_threads]: those that have not gone */
	size_t nr_threads;
	bool by_thread; /* only threads */
	int cgroup_fd;	/* owned; -1: every cgroup */
};

/*
 * Find the processes and threads of @options; a descriptor holds each process and is readable when
 * it ends. With threads, the processes are those of the threads; with both, threads of other
 * processes are dropped. Missing ones are warned of unless all are missing. Errors: -ESRCH all are
 * missing; -EOPNOTSUPP no cgroups of version 2; -ENOMEM, -EMFILE. targets_close is safe then.
 */
FPL_MUST_CHECK int targets_open(const struct engine_options *options, struct targets *ret,
				struct fpl_err *err);
void targets_close(struct targets *targets);

/* Have the kernel side sample exactly these. */
FPL_MUST_CHECK int targets_publish(struct targets *targets, struct kernel_side *kernel,
				   struct fpl_err *err);

/* Read what they have mapped. */
void targets_adopt(const struct targets *targets, struct tracker *tracker);

/* A descriptor has become readable. Returns true where it was the last process. */
bool targets_process_ended(struct targets *targets);

/* Have threads been named, and all of them gone? Cost: a system call per thread. */
bool targets_threads_gone(struct targets *targets, const struct kernel_side *kernel);
