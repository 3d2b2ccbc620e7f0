/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process gives these up before it reads files of other users. Programs, in two steps: the
 * spawner, which only forks workers, and each worker. Recordings: the reader. There is no way back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SANDBOX_UID	      2147483646u /* an unused user, above all ranges of systemd's table */
#define SANDBOX_MEMORY_BYTES  (1u << 30)  /* address space: four times what compiling may take */
#define SANDBOX_CPU_S	      60u	  /* in a worker's life */
#define SANDBOX_WRITTEN_BYTES (1u << 20)  /* of a file that a program of others writes */
#define SANDBOX_FDS_LEAST     8u	  /* its socket, the files of a request, and some */
#define SANDBOX_FDS	      152u /* and three for each file a worker keeps (PARSE_KEPT_FILES) */

/* Are system calls filtered at all? Not in a build with sanitizers, which need more of them. */
bool sandbox_has_filter(void);

/*
 * No new privileges, no other user's rights, no capabilities, no core dumps, not traceable, no
 * files written, few descriptors (SANDBOX_FDS, fewer where it may not have so many); of system
 * calls what spawner.c needs. Where this process may not change its user it keeps it, without
 * capabilities.
 *
 * Errors: what was refused, in words; the process must end then.
 */
FPL_MUST_CHECK int sandbox_enter_spawner(struct fpl_err *err);

/*
 * After that: limits of memory and CPU time, no processes, and only system calls that read what is
 * open already, speak over sockets that are there and manage memory that cannot be executed. The
 * kernel kills on any other.
 */
FPL_MUST_CHECK int sandbox_enter_worker(struct fpl_err *err);

/*
 * For a process that has opened its inputs and outputs, has one thread, has the workers and the
 * helper it needs, and reads recordings itself: no new privileges, and of system calls those that
 * read and write what is open and manage memory that cannot be executed; with @finds_files those,
 * too, that open files for reading and hire workers. The kernel refuses all others (EPERM).
 * Capabilities are dropped by proc/rights.h. Without effect in a build with sanitizers, but for the
 * privileges. Errors: what was refused, in words; nothing but no_new_privs has changed then.
 */
FPL_MUST_CHECK int sandbox_enter_reader(bool finds_files, struct fpl_err *err);

/*
 * For a profiler whose rights have been dropped (proc/rights.h), before it makes a thread: of
 * system calls those that a run needs. The kernel answers all others as if it had none such
 * (ENOSYS): mount, ptrace, namespaces, keys, modules, the network, io_uring. What the process makes
 * from then on has the same filter. Without effect in a build with sanitizers. Errors: what was
 * refused, in words; nothing has changed then.
 */
FPL_MUST_CHECK int sandbox_enter_run(struct fpl_err *err);

/*
 * For a process that is about to execute a program of others on an untrusted file of @file_bytes:
 * no new privileges, no core dumps; SANDBOX_MEMORY_BYTES and @file_bytes of address space,
 * SANDBOX_CPU_S, SANDBOX_WRITTEN_BYTES in a file; and no system call that makes a socket, reads the
 * kernel's log, traces or reads another process, mounts, or loads what the kernel runs: the kernel
 * refuses those (EPERM). The program's children have the same filter. Without limit of the address
 * space and filter in a build with sanitizers. Errors: what was refused, in words.
 */
FPL_MUST_CHECK int sandbox_enter_program(uint64_t file_bytes, struct fpl_err *err);
