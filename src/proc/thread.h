/* SPDX-License-Identifier: Apache-2.0 */
/* Threads by their number, as /proc has them. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* The process of thread @tid, which may be the first of it. Errors: -ESRCH there is no such thread;
 * others of open(2). */
FPL_MUST_CHECK int thread_process(pid_t tid, pid_t *ret, struct fpl_err *err);

/* Does thread @tid of process @pid still run code? Not one that has ended and waits for its
 * parent, or for the other threads of its process. */
bool thread_is_alive(pid_t pid, pid_t tid);
