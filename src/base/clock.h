/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks as plain numbers. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

/* Time of @clock (clock_gettime(2)), ns; 0: the clock is gone, as that of a process that has ended.
 */
uint64_t clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC: the clock of samples and of the side-band, too. No user can set it. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_monotonic_ms(void);
