/* SPDX-License-Identifier: Apache-2.0 */
/* First steps of a process that serves the profiler over one socket, its descriptor 0, and forks
 * others; and its end. */
#pragma once

#include <sys/types.h>

/*
 * Leave the terminal, whose signals are for the profiler; block no signal; log errors alone, since
 * there is no stderr; keep @control and no other descriptor; be called @name (15 bytes). Ends the
 * process if it leads its group already: a user has started it by hand.
 */
void served_begin(int control, const char *name);

/* Make @fd descriptor 0 and close all others. Ends the process on failure. */
void served_keep_only(int fd);

/*
 * In the profiler, which has closed the socket: wait for the end of @pid. Such a process ends at
 * once, and kills those it forked, unless a signal has stopped it: after half a second it is
 * killed, or left if this process may not do that.
 */
void served_await_end(pid_t pid);
