/* SPDX-License-Identifier: Apache-2.0 */
/* A process that somebody has stopped answers nobody; one that waits for a CPU will. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Has process @pid been stopped, by a signal or a debugger? False where that cannot be told. Cost:
 * reads a small file of /proc. */
bool process_is_stopped(pid_t pid);
