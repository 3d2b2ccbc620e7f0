/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define KILL_AFTER_MS  5000
#define LEAVE_AFTER_MS 1000
#define BEGIN_MS       1000 /* an exec takes milliseconds */

/* Runs in the child. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++) {
		if (isatty(fd))
			dup2(null, fd);
	}
}

/* Runs in the child; does not return. */
__attribute__((__noreturn__)) static void child_main(char **argv, bool to_stderr, bool off_terminal,
						     const char *const *environment, int go_fd,
						     int fail_fd, const sigset_t *signals)
{
	char go;
	ssize_t n = read(go_fd, &go, 1);

	if (n != 1) /* the profiler ended before it began */
		_exit(127);
	sigprocmask(SIG_SETMASK, signals, NULL);
	if (off_terminal)
		leave_terminal();
	for (; environment && *environment; environment++)
		putenv((char *)(uintptr_t)*environment);
	if (!to_stderr || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);

	int code = errno;

	n = write(fail_fd, &code, sizeof(code));
	_exit(127);
}

int command_start(char **argv, bool to_stderr, bool off_terminal, const char *const *environment,
		  const sigset_t *signals, struct command *ret, struct fpl_err *err)
{
	int go[2] = { -1, -1 }, fail[2] = { -1, -1 };
	int code = 0;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(fail, O_CLOEXEC) < 0)
		code = -errno;

	pid_t pid = code ? -1 : fork();

	if (pid == 0) {
		close(go[1]);
		child_main(argv, to_stderr, off_terminal, environment, go[0], fail[1], signals);
	}
	if (!code && pid < 0)
		code = -errno;
	cleanup_fd(&go[0]);
	cleanup_fd(&fail[1]);
	if (code) {
		cleanup_fd(&go[1]);
		cleanup_fd(&fail[0]);
		return fpl_fail(err, code, "%s: fork: %s", argv[0], strerror(-code));
	}
	*ret = (struct command){
		.pid = pid,
		.go_fd = go[1],
		.fail_fd = fail[0],
		.pid_fd = (int)syscall(SYS_pidfd_open, pid, 0),
		.name = argv[0],
	};
	return 0;
}

/* Advice for a command that does not start; begins with a separator from the reason. */
static const char *start_hint(const char *name, int code)
{
	if (code == ENOENT && !strchr(name, '/'))
		return ": no folder of $PATH has it";
	if (code == EACCES)
		return ": it is no program, or not one that you may run";
	return "";
}

/* Waits until it is known how the exec went. Errors: -ENOENT it failed. */
static int take_begin(struct command *command, struct fpl_err *err)
{
	int code = 0;
	ssize_t n;

	do
		n = read(command->fail_fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	close(command->fail_fd);
	command->fail_fd = -1;
	command->failed = n == (ssize_t)sizeof(code);
	if (command->failed)
		return fpl_fail(err, -ENOENT, "%s: %s%s", command->name, strerror(code),
				start_hint(command->name, code));
	return 0;
}

int command_release(struct command *command, int stop_fd, struct fpl_err *err)
{
	struct pollfd poll_fds[] = { { .fd = command->fail_fd, .events = POLLIN },
				     { .fd = stop_fd, .events = POLLIN } };
	uint64_t end_ms = clock_monotonic_ms() + BEGIN_MS, now_ms;
	ssize_t n = write(command->go_fd, "", 1);

	(void)n;
	close(command->go_fd);
	command->go_fd = -1;
	/* the file system of the file may not answer: then the run goes on without it */
	do {
		now_ms = clock_monotonic_ms();
		n = poll(poll_fds, ARRAY_SIZE(poll_fds),
			 now_ms < end_ms ? (int)(end_ms - now_ms) : 0);
	} while (n < 0 && errno == EINTR); /* judging has a timer that ticks */
	if (poll_fds[0].revents)
		return take_begin(command, err);
	if (n == 0)
		fpl_log(FPL_LOG_WARN,
			"%s: has not begun for a second: its file system may not answer",
			command->name);
	return 0;
}

static int send(const struct command *command, int number)
{
	return kill(command->pid, number) < 0 ? -errno : 0;
}

/* helper_fn: until it is waited for, its number cannot be reused. */
static int send_term(void *ctx)
{
	return send(ctx, SIGTERM);
}

/* helper_fn */
static int send_kill(void *ctx)
{
	return send(ctx, SIGKILL);
}

int command_delegate(struct command *command, struct privileged_helper *helper, struct fpl_err *err)
{
	command->term_task = helper_add(helper, send_term, command, -1);
	command->kill_task = helper_add(helper, send_kill, command, -1);
	if (command->term_task < 0 || command->kill_task < 0)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", command->name);
	command->helper = helper;
	return 0;
}

static void end_with(const struct command *command, int number, int task)
{
	if (send(command, number) == -EPERM && command->helper)
		helper_do(command->helper, task);
}

static void say_status(const struct command *command, int status, bool ended_by_us)
{
	if (WIFSIGNALED(status) && ended_by_us)
		fpl_log(FPL_LOG_INFO, "%s: ended by signal %d with the run%s", command->name,
			WTERMSIG(status), command->advice ? command->advice : "");
	else if (WIFSIGNALED(status))
		fpl_log(FPL_LOG_WARN, "%s: killed by signal %d (%s)", command->name,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		fpl_log(FPL_LOG_WARN, "%s: exited with status %d", command->name,
			WEXITSTATUS(status));
}

/* Waits up to @timeout_ms for the end; returns true once the status was taken. */
static bool reap(const struct command *command, int timeout_ms, int *status)
{
	struct pollfd poll_fd = { .fd = command->pid_fd, .events = POLLIN };

	if (waitpid(command->pid, status, WNOHANG) == command->pid)
		return true;
	if (command->pid_fd < 0)
		usleep((useconds_t)timeout_ms * 1000);
	else
		poll(&poll_fd, 1, timeout_ms);
	return waitpid(command->pid, status, WNOHANG) == command->pid;
}

static void forget(struct command *command)
{
	cleanup_fd(&command->go_fd);
	cleanup_fd(&command->fail_fd);
	cleanup_fd(&command->pid_fd);
	*command = (struct command){ .go_fd = -1, .fail_fd = -1, .pid_fd = -1 };
}

/* It has ended: say how, where that is not plain success. */
static void say_end(struct command *command, int status, bool ended_by_us)
{
	struct fpl_err err = { 0 };

	if (command->failed)
		return;
	if (command->fail_fd >= 0 && take_begin(command, &err))
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
	else
		say_status(command, status, ended_by_us);
}

void command_ended(struct command *command, int status)
{
	say_end(command, status, false);
	forget(command);
}

int command_end(struct command *command)
{
	bool held = command->go_fd >= 0;
	int status = 0;

	if (!command->pid)
		return -1;
	cleanup_fd(&command->go_fd); /* a child that is still held exits */

	bool ended_by_us = !reap(command, 0, &status);

	if (ended_by_us) {
		bool has_begun = command->fail_fd < 0;

		if (has_begun)
			end_with(command, SIGTERM, command->term_task);
		if (!reap(command, has_begun ? KILL_AFTER_MS : 0, &status)) {
			end_with(command, SIGKILL, command->kill_task);
			/* one that waits for a file system may not end */
			if (!reap(command, LEAVE_AFTER_MS, &status)) {
				fpl_log(FPL_LOG_WARN, "%s: does not end: it is left behind",
					command->name);
				forget(command);
				return -1;
			}
		}
	}
	if (!held)
		say_end(command, status, ended_by_us);
	forget(command);
	return ended_by_us || held ? -1 : status;
}

int command_leave(struct command *command)
{
	int status = 0;

	if (!command->pid)
		return -1;
	if (reap(command, 0, &status)) {
		say_end(command, status, false);
	} else {
		fpl_log(FPL_LOG_INFO, "%s: goes on as process %d", command->name, command->pid);
		status = -1;
	}
	forget(command);
	return status;
}
