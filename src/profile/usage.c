/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/usage.h"

#include <stdio.h>
#include <time.h>

uint64_t usage_rss_anon_bytes(void)
{
	char line[128];
	unsigned long long kib = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kib * 1024;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t usage_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t usage_cpu_ms(void)
{
	return usage_cpu_ns() / 1000000u;
}

uint64_t usage_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}
