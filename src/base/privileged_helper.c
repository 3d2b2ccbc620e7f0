/* SPDX-License-Identifier: Apache-2.0 */
#include "base/privileged_helper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

int helper_add(struct privileged_helper *helper, helper_fn run, void *ctx, int fd)
{
	if (vector_push(&helper->tasks, { run, ctx, fd }))
		return -ENOMEM;
	return (int)helper->tasks.nr - 1;
}

/* The lowest descriptor from @from on that is to stay open; UINT_MAX: none. */
static unsigned int next_kept(const struct privileged_helper *helper, int socket, unsigned int from)
{
	unsigned int next = (unsigned int)socket >= from ? (unsigned int)socket : UINT_MAX;

	for (size_t i = 0; i < helper->tasks.nr; i++) {
		int fd = helper->tasks.list[i].fd;

		if (fd >= 0 && (unsigned int)fd >= from && (unsigned int)fd < next)
			next = (unsigned int)fd;
	}
	return next;
}

/*
 * Close inherited descriptors (pipes, files, the terminal): open here, they would never reach their
 * end.
 */
static void close_others(const struct privileged_helper *helper, int socket)
{
	for (unsigned int from = 0;;) {
		unsigned int kept = next_kept(helper, socket, from);

		if (kept > from)
			close_range(from, kept == UINT_MAX ? UINT_MAX : kept - 1, 0);
		if (kept == UINT_MAX)
			return;
		from = kept + 1;
	}
}

/* Runs in the child; does not return. */
__attribute__((__noreturn__)) static void serve(const struct privileged_helper *helper, int socket,
						int (*reduce)(void))
{
	uint32_t task;

	close_others(helper, socket);
	if (reduce())
		_exit(1);
	while (recv(socket, &task, sizeof(task), 0) == (ssize_t)sizeof(task)) {
		const struct helper_task *todo = &helper->tasks.list[task];
		int32_t result = task < helper->tasks.nr ? todo->run(todo->ctx) : -EINVAL;

		if (send(socket, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			break;
	}
	_exit(0);
}

int helper_start(struct privileged_helper *helper, int (*reduce)(void), struct fpl_err *err)
{
	int sockets[2] = { -1, -1 };
	int code = 0;

	if (!helper->tasks.nr)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		code = -errno;

	/* Ctrl-C reaches the helper, too, but only the parent handles it */
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);

	pid_t pid = code ? -1 : fork();

	if (pid == 0)
		serve(helper, sockets[1], reduce);
	if (!code && pid < 0)
		code = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	cleanup_fd(&sockets[1]);
	if (code) {
		cleanup_fd(&sockets[0]);
		return fpl_fail(err, code, "fork: %s", strerror(-code));
	}
	helper->socket = sockets[0];
	helper->pid = pid;
	return 0;
}

int helper_do(struct privileged_helper *helper, int task)
{
	uint32_t wanted = (uint32_t)task;
	int32_t result;

	if (task < 0 || helper->socket < 0 ||
	    send(helper->socket, &wanted, sizeof(wanted), MSG_NOSIGNAL) != sizeof(wanted) ||
	    recv(helper->socket, &result, sizeof(result), 0) != (ssize_t)sizeof(result))
		return -ECHILD;
	return result;
}

void helper_fini(struct privileged_helper *helper)
{
	if (helper->socket >= 0)
		close(helper->socket);
	if (helper->pid > 0)
		waitpid(helper->pid, NULL, 0);
	vector_fini(&helper->tasks);
	*helper = HELPER_NONE;
}
