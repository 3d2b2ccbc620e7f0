/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a traced process. They run; one at a time is held and stepped. While the judge
 * waits for it, stops of the others are settled as if they were untraced.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "judge/tracee.h"

#define TRACEES_MAX 65536u

struct tracee_thread {
	pid_t tid;
	bool stopped;	  /* by us, or until we let it go on */
	bool asked;	  /* to stop, and did not yet */
	bool stepping;	  /* its last request was a step: the trap flag is set */
	bool breakpoints; /* it has some */
};

struct tracees {
	pid_t pid;
	struct tracee_thread *threads; /* owned [nr] */
	size_t nr, room, most;	       /* most: of nr so far */
	size_t next;   /* index at which the search for a running thread continues */
	bool ended;    /* the process has */
	int status;    /* of wait(2), if it ended and we are its parent */
	bool replaced; /* it has executed another program since this was cleared */
	const volatile sig_atomic_t *stop; /* borrowed: becomes true when the user wants to stop */
};

/* Event of the held thread. It is stopped unless said otherwise. */
enum tracee_event {
	TRACEE_NOTHING, /* no event in the given time, or the user wants to stop: it still runs */
	TRACEE_GONE,	/* it is no more */
	TRACEE_STOPPED, /* as asked, or by an event that changes nothing */
	TRACEE_STEPPED, /* an instruction was executed */
	TRACEE_BREAKPOINT,  /* it is at one */
	TRACEE_HANDLER,	    /* it is at the first instruction of a signal's handler */
	TRACEE_SIGNALLED,   /* a signal is to be delivered: *ret_signal */
	TRACEE_GROUP_STOP,  /* a signal stopped the process */
	TRACEE_OTHER_IMAGE, /* it has executed another program */
};

/*
 * Attach to all threads of @pid, without stopping or otherwise disturbing any. @stop: borrowed.
 * Errors: -ESRCH; -EPERM, and other reasons the message explains; -ENOMEM. tracees_leave() is safe
 * after an error.
 */
FPL_MUST_CHECK int tracees_attach(struct tracees *ret, pid_t pid, const volatile sig_atomic_t *stop,
				  struct fpl_err *err);

/*
 * Detach from all threads, whatever state they are in, and free. A sleeping thread without
 * breakpoints and traps of ours is not woken, which could end its system call: the kernel releases
 * it when the attaching thread ends, which must then happen.
 */
void tracees_leave(struct tracees *tracees);

/* Settle what has happened, without waiting. */
void tracees_settle(struct tracees *tracees);

/* Wait up to @ms for something to happen, and settle it. */
void tracees_idle(struct tracees *tracees, unsigned int ms);

/* A thread that runs on a CPU or wants to, another one each time; 0: none. */
pid_t tracees_running(struct tracees *tracees);

/* Ask @tid to stop; it is held from then on. False: it is gone. */
bool tracees_interrupt(struct tracees *tracees, pid_t tid);

/* As tracee_break_at(), of a thread that is stopped. */
bool tracees_break_at(struct tracees *tracees, pid_t tid, const uint64_t *addresses, size_t nr);

/* Let @tid, which is stopped, go on by @request, with @signal. False: it is gone. */
bool tracees_go(struct tracees *tracees, pid_t tid, enum tracee_request request, int signal);

/* Wait up to @ms for @tid. *ret_signal: with TRACEE_SIGNALLED which signal it is, else 0. */
enum tracee_event tracees_wait(struct tracees *tracees, pid_t tid, unsigned int ms,
			       int *ret_signal);
