/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the threads of the targets were on a CPU, runnable and blocked: the books that programs
 * of the kernel side keep by thread (bpf/blocked.h), begun and closed for those that are there when
 * the run begins and ends.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "bpf/shared.h"

struct fpless_bpf;

/*
 * Begin the books of all threads of the targets. From the gate's opening on, others begin with the
 * thread. Errors: -EOPNOTSUPP. Cost: 0.4 us for each thread of the machine.
 */
FPL_MUST_CHECK int thread_times_begin(const struct fpless_bpf *skel, struct fpl_err *err);

/* The gate is about to close. */
void thread_times_stop(const struct fpless_bpf *skel);

/*
 * Close the books of the threads that live on: no program runs any more. Those that still sleep are
 * sampled into the ring; @pause is called for each few of them, to make room there. Errors:
 * -EOPNOTSUPP. Cost: 10 us for each thread that is sampled.
 */
FPL_MUST_CHECK int thread_times_close(const struct fpless_bpf *skel, void (*pause)(void *ctx),
				      void *ctx, struct fpl_err *err);

/* The books, all zero where none were kept. */
struct fpl_times thread_times_sums(const struct fpless_bpf *skel);
