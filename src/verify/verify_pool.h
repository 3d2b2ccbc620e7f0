/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verify many files, each in a worker process of its own: a file that makes libdw crash, hang or
 * eat memory costs its own verdict, nothing else.
 */
#pragma once

#include "base/err.h"
#include "verify/report.h"

struct verify_job {
	const char *path;      /* borrowed */
	struct report *report; /* owned by the caller; NULL until the job is done */
};

struct verify_pool_options {
	unsigned int nr_workers; /* 1 or more */
	uint64_t timeout_ns;	 /* wall-clock time one file may take */
	/* Judge one file, in a worker process that ends afterwards: it may give up its rights. */
	void (*judge)(const char *path, struct report *ret);
	/* Called in the caller's process whenever a job is done, in any order; may be NULL. */
	void (*done)(struct verify_job *job, void *ctx);
	void *ctx;
};

/*
 * Run options->judge on every job, in the order given, and set its report. A worker that dies or
 * runs over the time yields REPORT_FAILED with a message. Errors: -ENOMEM; errors
 * of socketpair(2), fork(2) and poll(2).
 */
FPL_MUST_CHECK int verify_pool_run(struct verify_job *jobs, size_t nr_jobs,
				   const struct verify_pool_options *options, struct fpl_err *err);
