/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for BPF programs that run with interrupts or preemption off, without a grace period. */
#pragma once

#include <stdbool.h>

/*
 * Run this thread once on each CPU that is online: whatever ran there with preemption off has ended
 * then, and what begins later sees what was written before. False: it may not run on one of them,
 * or memory is short; nothing was waited for. Cost: one migration per CPU, some 30 us where the
 * thread comes first; where CPUs are busy it waits for its turn, 10 ms mostly and 0.5 s now and
 * then. A grace period is 7 ms, and more than 100 ms where each CPU is busy.
 */
bool cpu_visit_all(void);
