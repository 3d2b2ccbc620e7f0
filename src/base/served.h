/* SPDX-License-Identifier: Apache-2.0 */
/* How a process begins that serves the profiler over one socket, its descriptor 0, and forks
 * others. */
#pragma once

/*
 * Leave the terminal, whose signals are for the profiler; block no signal; log errors alone, since
 * there is no stderr; keep @control and no other descriptor; be called @name (15 bytes). Ends the
 * process where it leads its group already: somebody has called it by hand.
 */
void served_begin(int control, const char *name);

/* Make @fd descriptor 0 and close all others. Ends the process where that fails. */
void served_keep_only(int fd);
