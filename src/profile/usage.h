/* SPDX-License-Identifier: Apache-2.0 */
/* What the profiler itself uses. */
#pragma once

#include <stdint.h>

/* Anonymous memory resident now (RssAnon of proc(5)), bytes; 0 where it cannot be had. */
uint64_t usage_rss_anon_bytes(void);

/* CPU time of this process so far, user and system, ms. */
uint64_t usage_cpu_ms(void);

/* The same, ns. */
uint64_t usage_cpu_ns(void);

uint64_t usage_monotonic_ns(void);
