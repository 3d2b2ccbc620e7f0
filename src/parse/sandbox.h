/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process gives up before it reads files of strangers. In two steps: the nursery, which only
 * forks workers, and each worker. There is no way back.
 */
#pragma once

#include "base/err.h"

#define SANDBOX_UID	     2147483646u /* belongs to nobody: above all ranges of systemd's table */
#define SANDBOX_MEMORY_BYTES (1u << 30)	 /* address space: four times what compiling may take */
#define SANDBOX_CPU_S	     60u	 /* in a worker's life */
#define SANDBOX_FDS	     4u

/*
 * No new privileges, no other user's rights, no capabilities, no core dumps, not traceable, no
 * files written, few descriptors; of system calls what nursery.c needs. Where this process may not
 * change its user it keeps it, without capabilities.
 *
 * Errors: what was refused, in words; the process must end then.
 */
FPL_MUST_CHECK int sandbox_enter_nursery(struct fpl_err *err);

/*
 * After that: limits of memory and CPU time, no processes, and only system calls that read what is
 * open already, speak over sockets that are there and manage memory that cannot be executed. The
 * kernel kills on any other.
 */
FPL_MUST_CHECK int sandbox_enter_worker(struct fpl_err *err);
