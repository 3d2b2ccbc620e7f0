/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor of a process, never of a thread. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/*
 * Open a pidfd for process @pid; the caller closes it. Errors: -ESRCH no such process, or @pid is
 * another thread than the first of its process (message says which); -EMFILE and the like.
 */
FPL_MUST_CHECK int pidfd_of(pid_t pid, int *ret, struct fpl_err *err);
