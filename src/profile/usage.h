/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler's own use of CPU and memory. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Anonymous memory resident now (RssAnon of proc(5)), bytes; 0 where it cannot be had. */
uint64_t usage_rss_anon_bytes(void);

/* CPU time of this process so far, user and system, ns. */
uint64_t usage_cpu_ns(void);

/* The same of the processes that work for this one: its children and theirs. */
struct usage_helpers {
	uint64_t cpu_ns; /* of those there are, and of those they outlived */
	/* The most that each ever had: what one needs for a large file is gone by the next look. */
	uint64_t rss_anon_peak_bytes;
};

/*
 * Add up the helpers, all children but @except (0: none) and below: a command is profiled, and no
 * helper. Unreadable ones count 0. Cost: two small files of /proc per helper, about 0.1 ms for a
 * few of them.
 */
void usage_helpers(pid_t except, struct usage_helpers *ret);
