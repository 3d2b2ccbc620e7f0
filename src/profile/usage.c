/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/usage.h"

#include <stdio.h>
#include <sys/resource.h>
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

uint64_t usage_cpu_ms(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000u;
}

uint64_t usage_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
