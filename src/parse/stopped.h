/* SPDX-License-Identifier: Apache-2.0 */
/* A process that was stopped does not answer; one that waits for a CPU will. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Has process @pid been stopped, by a signal or a debugger? False where that cannot be told. Cost:
 * reads a small file of /proc. */
bool process_is_stopped(pid_t pid);

/* Its state, as proc_pid_stat(5) has it; NUL where that cannot be told. The same cost. Only of our
 * own workers: /proc may refuse that of a process that is being executed anew. */
char process_state(pid_t pid);
