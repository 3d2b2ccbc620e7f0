/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that goes on at a test's will: for tests linked with --wrap=clock_monotonic_ns. */
#pragma once

#include <stdint.h>

/* The clock is ahead by that. */
static uint64_t skipped_ns;

uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
	return __real_clock_monotonic_ns() + skipped_ns;
}
