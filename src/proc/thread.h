/* SPDX-License-Identifier: Apache-2.0 */
/* Threads by their number, as /proc has them. The first of a process has the number of that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/* The process of thread @tid, which may be the first of it. Errors: -ESRCH there is no such thread;
 * others of open(2). */
FPL_MUST_CHECK int thread_process(pid_t tid, pid_t *ret, struct fpl_err *err);

/* The number behind @key (with its colon, at the beginning of a line) in /proc/TID/status; -1:
 * there is none, or no such thread. */
int64_t thread_number(pid_t tid, const char *key);
int64_t thread_number_in(FILE *status, const char *key); /* the same of an open file */

/* How thread @tid of process @pid is, a letter of proc_pid_stat(5): R runs, S sleeps, Z has ended;
 * 0: there is none. */
char thread_state(pid_t pid, pid_t tid);
char thread_state_in(const char *status); /* the same of the text of its status */

/*
 * The same of the first thread of process @pid, and whether the process has memory at all: a thread
 * of the kernel has none, nor has what has ended. True where that cannot be told.
 */
char process_glance(pid_t pid, bool *ret_has_memory);
bool process_has_memory_in(const char *status); /* the same of the text of its status */

/* Does thread @tid of process @pid still run code? Not one that has ended and waits for its
 * parent, or for the other threads of its process. */
bool thread_is_alive(pid_t pid, pid_t tid);
