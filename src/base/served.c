/* SPDX-License-Identifier: Apache-2.0 */
#include "base/served.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define END_TRIES 500 /* of a millisecond each */

void served_keep_only(int fd)
{
	if (fd != 0 && dup2(fd, 0) < 0)
		_exit(1);
	syscall(SYS_close_range, 1, ~0u, 0);
}

void served_begin(int control, const char *name)
{
	sigset_t none;

	/* the profiler tells us to end by closing the socket */
	if (setsid() < 0)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fpl_log_set_level(FPL_LOG_ERROR);
	served_keep_only(control);
	prctl(PR_SET_NAME, name);
}

void served_await_end(pid_t pid)
{
	for (int i = 0; i < END_TRIES; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		poll(NULL, 0, 1);
	}
	if (kill(pid, SIGKILL) == 0)
		waitpid(pid, NULL, 0);
}
