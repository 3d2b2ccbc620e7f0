/* SPDX-License-Identifier: Apache-2.0 */
/* One thread of a traced process: a layer over ptrace(2). The thread is stopped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "judge/shadow.h"

#define TRACEE_BREAKPOINTS 4u /* x86-64 has four debug registers */

/* How it goes on. */
enum tracee_request {
	TRACEE_RUN,
	TRACEE_STEP,   /* one instruction */
	TRACEE_LISTEN, /* stay stopped, as the sender of SIGSTOP wants */
	TRACEE_LEAVE,  /* for good */
};

/* All: false where the thread is gone. */

/* @ret_compat: it is in 32-bit code. */
bool tracee_registers(pid_t tid, struct registers *ret, bool *ret_compat);

/* @signal: delivered to it, 0: none. Not with LISTEN. */
bool tracee_go(pid_t tid, enum tracee_request request, int signal);

/* Make it stop before it executes one of @addresses [@nr <= TRACEE_BREAKPOINTS]; 0: none. False,
 * with no breakpoint set, also if the machine has no debug registers. */
bool tracee_break_at(pid_t tid, const uint64_t *addresses, size_t nr);

/* Cause of a signal stop: si_code of sigaction(2). */
bool tracee_signal_code(pid_t tid, int *ret);

/* Does a trap of a step or a breakpoint wait to be delivered to it? */
bool tracee_has_trap(pid_t tid);

/* Write a word to the process's memory. */
bool tracee_poke(pid_t tid, uint64_t addr, uint64_t value);
