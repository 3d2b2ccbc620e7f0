/* SPDX-License-Identifier: Apache-2.0 */
/* Threads by their number, as in /proc. The first thread of a process has the process's number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/* The process of thread @tid, which may be its first. Errors: -ESRCH no such thread; others of
 * open(2). */
FPL_MUST_CHECK int thread_process(pid_t tid, pid_t *ret, struct fpl_err *err);

/* The number behind @key (with its colon, at the beginning of a line) in /proc/TID/status; -1: no
 * such line or thread. */
int64_t thread_number(pid_t tid, const char *key);
int64_t thread_number_in(FILE *status, const char *key); /* the same of an open file */

/* State of thread @tid of process @pid, a letter of proc_pid_stat(5): R runs, S sleeps, Z has
 * ended; 0: no such thread. */
char thread_state(pid_t pid, pid_t tid);
char thread_state_in(const char *status); /* the same of the text of its status */

/* The kernel's task_struct.__state @state of a thread without a CPU that has not ended, as
 * /proc/PID/status shows it: "S (sleeping)"; "R (runnable)" waits for one. */
const char *thread_state_text(uint64_t state);

/*
 * The same for the first thread of process @pid. *ret_has_memory: false for a kernel thread and for
 * a process that has ended; true if unknown.
 */
char process_glance(pid_t pid, bool *ret_has_memory);
bool process_has_memory_in(const char *status); /* the same of the text of its status */

/* Does thread @tid of process @pid still run code? False for one that has ended and waits for its
 * parent, or for the other threads of its process. */
bool thread_is_alive(pid_t pid, pid_t tid);
