/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf.data, read as the text that `perf script' prints of it. The file is untrusted and perf was
 * not made for that: it runs as user 65534 where this process may choose, without network, without
 * debuginfod and without capabilities but CAP_SYSLOG, which names the kernel's functions. It may
 * take so much time, and PERF_DATA_BYTES of memory beside the file. A keeper process ends it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define PERF_DATA_S	60u /* the usual time */
#define PERF_DATA_BYTES (1ull << 30)

/* Does the file or pipe begin as a perf.data does? Nothing of it is taken. Waits for a pipe. */
bool perf_data_is(int fd);

struct perf_data {
	int text_fd;   /* owned: what perf prints, a pipe */
	int keeper_fd; /* owned: to the keeper */
	int error_fd;  /* owned: a file of memory with what perf says on stderr */
};

#define PERF_DATA_NONE ((struct perf_data){ -1, -1, -1 })

/*
 * Make the keeper for the file @fd called @name, before rights are given up, in a process of one
 * thread. perf runs from perf_data_begin() on, for @seconds at most. Errors: -ENOENT there is no
 * perf: the package is named; -EFBIG the file must be copied, because it is a pipe or not readable
 * by user 65534, and has more than PERF_DATA_BYTES; those of read(2), pipe(2), memfd_create(2),
 * fork(2).
 */
FPL_MUST_CHECK int perf_data_open(const char *name, int fd, unsigned seconds, struct perf_data *ret,
				  struct fpl_err *err);

/* perf begins to print to text_fd. */
void perf_data_begin(struct perf_data *data);

/*
 * All that is wanted was read, or as much as could be: end perf and the keeper. @error: of reading
 * the text, described in @err. Returns it, or -EBADMSG where perf's run failed. A run that failed
 * behind samples that could be read (@has_samples) is no error: that is said on stderr.
 */
FPL_MUST_CHECK int perf_data_end(struct perf_data *data, const char *name, bool has_samples,
				 int error, struct fpl_err *err);

/* Safe on PERF_DATA_NONE and behind perf_data_end(). */
void perf_data_fini(struct perf_data *data);
