/* SPDX-License-Identifier: Apache-2.0 */
/* What time it is: the kernel's clocks as plain numbers. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

/* What @clock (clock_gettime(2)) shows, ns; 0: it is not there, as that of a process that has gone.
 */
uint64_t clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC, which is the clock of samples and of the side-band, too, and which nobody sets.
 */
uint64_t clock_monotonic_ns(void);
uint64_t clock_monotonic_ms(void);
