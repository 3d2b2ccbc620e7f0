/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ms(void)
{
	return clock_monotonic_ns() / NS_PER_MS;
}
