/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the threads of the targets were on a CPU, runnable and blocked: the books that programs
 * of the kernel side keep by thread (bpf/blocked.h), begun and closed for those that are there when
 * the run begins and ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"

struct fpless_bpf;

/* The end of the books: of the run, or of a window. */
struct thread_times_end {
	void (*pause)(void *ctx); /* called for each few threads that are sampled: make room */
	void *ctx;
	uint32_t wait_ms; /* for threads that are exiting */
	bool is_last;	  /* of the run: say if some are left */
};

/*
 * Begin the books of all threads of the targets, once more if they were closed. From the gate's
 * opening on, others begin with the thread. Errors: -EOPNOTSUPP. Cost: 0.4 us for each thread of
 * the machine.
 */
FPL_MUST_CHECK int thread_times_begin(const struct fpless_bpf *skel, struct fpl_err *err);

/* The gate is about to close. */
void thread_times_stop(const struct fpless_bpf *skel);

/*
 * Close the books of the threads that live on: no program runs any more. Those that still sleep are
 * sampled into the ring. A thread whose books are not closed in time adds them later. *nr_left: how
 * many were left so far, and how many are. Errors: -EOPNOTSUPP. Cost: 10 us for each thread that is
 * sampled.
 */
FPL_MUST_CHECK int thread_times_close(const struct fpless_bpf *skel,
				      const struct thread_times_end *end, uint64_t *nr_left,
				      struct fpl_err *err);

/* The books so far; all zero where none were kept. */
struct fpl_times thread_times_sums(const struct fpless_bpf *skel);
