/* SPDX-License-Identifier: Apache-2.0 */
/* The line that begins a sample in the text of `perf script`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct perf_header {
	char *comm;	   /* into the line */
	const char *event; /* into the line, "cpu-clock:ppp"; "" none */
	const char *rest;  /* what stands behind the event: the frame of a sample without a chain */
	uint32_t pid, tid, cpu;
	bool has_pid, has_tid, has_cpu, has_time, has_period;
	uint64_t time_ns, period;
};

/*
 * Take @line, which is cut in pieces, apart:
 *
 *   COMM PID|TID|PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT: REST
 *
 * CPU, time, period and REST may be missing; COMM may hold blanks, and numbers. One number alone is
 * the thread. Returns false where it is no such line.
 */
bool perf_header_parse(char *line, struct perf_header *ret);
