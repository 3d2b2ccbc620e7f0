/* SPDX-License-Identifier: Apache-2.0 */
/* The command that is profiled: held until sampling is on, ended with the run. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/privileged_helper.h"
#include "base/err.h"

struct command {
	pid_t pid;   /* 0: none */
	int go_fd;   /* owned: a byte or its end lets the child go on */
	int fail_fd; /* owned: errno of a failed exec comes from here, nothing from a good one; -1:
		      * it has come */
	int pid_fd;  /* owned: readable when the command has ended */
	bool failed; /* its end was told as an error already */
	struct privileged_helper
		*helper;	  /* borrowed: may end it where this process may not; NULL: none */
	int term_task, kill_task; /* of the helper */
	const char *name;	  /* borrowed: argv[0] */
	const char *advice;	  /* borrowed: said with its end by us; NULL: nothing */
};

/*
 * Fork a child that will execute @argv once command_release says so; @to_stderr: its stdout becomes
 * its stderr; @off_terminal: what of its stdin, stdout and stderr is a terminal becomes /dev/null;
 * @environment: words NAME=VALUE that its own has besides ours, up to a NULL; NULL: none;
 * @signals: the signals it has blocked. Nothing else of it differs from what it would
 * have without us: to be called while the process has one thread, and its limits and rights as
 * given. Errors: -EAGAIN, -ENOMEM, -EMFILE.
 */
FPL_MUST_CHECK int command_start(char **argv, bool to_stderr, bool off_terminal,
				 const char *const *environment, const sigset_t *signals,
				 struct command *ret, struct fpl_err *err);

/*
 * Have @helper (must outlive the command) end it where this process will have lost the right to:
 * the command may become another user's. Before the helper starts. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int command_delegate(struct command *command, struct privileged_helper *helper,
				    struct fpl_err *err);

/*
 * Let it run. Waits for its exec for a second at most, and no longer than until @stop_fd is
 * readable; one whose file system does not answer may begin later, or never. Errors: -ENOENT it
 * cannot be executed (the message says why).
 */
FPL_MUST_CHECK int command_release(struct command *command, int stop_fd, struct fpl_err *err);

/* Another caller has taken its @status of wait(2): log how it ended, unless that is plain success.
 */
void command_ended(struct command *command, int status);

/*
 * End it if it still runs (SIGTERM, SIGKILL after 5 s; at once where it has not begun), take its
 * status and say how it ended where that is not plain success. No effect on a command that was
 * never started. Returns its status of wait(2) if it had ended by itself, otherwise -1.
 */
int command_end(struct command *command);

/*
 * The same, but if it still runs, it goes on after this process, and that is said. Not for one that
 * is held.
 */
int command_leave(struct command *command);
