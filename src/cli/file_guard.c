/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "obj/opener.h"

enum { END_S = 1 };

/* The first that may have to be waited for; NULL: none. */
static const char *remote_of(const char *const *paths, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(paths[i], "-") != 0 && !opener_path_is_local(paths[i]))
			return paths[i];
	}
	return NULL;
}

__attribute__((__noreturn__)) static void end_by(int number)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigaction(number, &action, NULL);
	raise(number);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + number);
}

/* Ends as the child has, if it has. */
static void end_with(pid_t child)
{
	int status;

	if (waitpid(child, &status, WNOHANG) != child)
		return;
	if (WIFSIGNALED(status))
		end_by(WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}

/* A terminal has sent @number to the child, too; who sent it to this process alone means both. */
__attribute__((__noreturn__)) static void end_both(pid_t child, int number, const char *path)
{
	const struct timespec patience = { .tv_sec = END_S };
	sigset_t set;
	int status;

	kill(child, number);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &patience);
	if (waitpid(child, &status, WNOHANG) != child) {
		kill(child, SIGKILL);
		sigtimedwait(&set, NULL, &patience);
		if (waitpid(child, &status, WNOHANG) != child)
			fpl_log(FPL_LOG_WARN,
				"%s: its file system does not answer: process %d waits for it and "
				"ends when it does",
				path, (int)child);
	}
	end_by(number);
}

void file_guard(const char *const *paths, size_t nr)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };
	static bool is_guarded;
	const char *path = is_guarded ? NULL : remote_of(paths, nr);
	sigset_t set, before;
	pid_t parent = getpid(), child;

	if (!path)
		return;
	is_guarded = true;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct sigaction action;

		/* as nohup(1) has it */
		if (sigaction(ends[i], NULL, &action) || action.sa_handler != SIG_IGN)
			sigaddset(&set, ends[i]);
	}
	sigprocmask(SIG_BLOCK, &set, &before);
	child = fork();
	if (child <= 0) {
		/* without a child the file is read here */
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
			_exit(1);
		return;
	}
	for (;;) {
		int number = sigwaitinfo(&set, NULL);

		if (number < 0 && errno != EINTR)
			_exit(1);
		end_with(child);
		if (number > 0 && number != SIGCHLD)
			end_both(child, number, path);
	}
}
