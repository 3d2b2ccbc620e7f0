/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of sources, for source.c alone. */
#pragma once

#include "profile/source.h"

/* Perf events whose overflow runs the program, one per CPU that is sampled. */
extern const struct source_ops source_perf_ops;

/* A place in the kernel that calls the program. */
extern const struct source_ops source_tracepoint_ops;

/* A place in programs, or in the kernel, where a breakpoint calls the program. */
extern const struct source_ops source_probe_ops;

/* Switches between threads: a sample is of the block that the thread comes from. */
extern const struct source_ops source_blocked_ops;

/* Wakeups: a sample is of the thread that ends another one's block. */
extern const struct source_ops source_waker_ops;

/* Changes of the resident memory of processes. */
extern const struct source_ops source_rss_ops;

/* The functions of programs that allocate and free memory. */
extern const struct source_ops source_heap_ops;
