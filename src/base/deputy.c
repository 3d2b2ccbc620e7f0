/* SPDX-License-Identifier: Apache-2.0 */
#include "base/deputy.h"

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

int deputy_add(struct deputy *deputy, deputy_fn run, void *ctx, int fd)
{
	if (vector_push(&deputy->tasks, { run, ctx, fd }))
		return -ENOMEM;
	return (int)deputy->tasks.nr - 1;
}

/* The lowest descriptor from @from on that is to stay open; UINT_MAX: none. */
static unsigned int next_kept(const struct deputy *deputy, int socket, unsigned int from)
{
	unsigned int next = (unsigned int)socket >= from ? (unsigned int)socket : UINT_MAX;

	for (size_t i = 0; i < deputy->tasks.nr; i++) {
		int fd = deputy->tasks.list[i].fd;

		if (fd >= 0 && (unsigned int)fd >= from && (unsigned int)fd < next)
			next = (unsigned int)fd;
	}
	return next;
}

/*
 * Close inherited descriptors (pipes, files, the terminal): open here, they would never reach their
 * end.
 */
static void close_others(const struct deputy *deputy, int socket)
{
	for (unsigned int from = 0;;) {
		unsigned int kept = next_kept(deputy, socket, from);

		if (kept > from)
			close_range(from, kept == UINT_MAX ? UINT_MAX : kept - 1, 0);
		if (kept == UINT_MAX)
			return;
		from = kept + 1;
	}
}

/* Runs in the child; does not return. */
__attribute__((__noreturn__)) static void serve(const struct deputy *deputy, int socket,
						int (*reduce)(void))
{
	uint32_t task;

	close_others(deputy, socket);
	if (reduce())
		_exit(1);
	while (recv(socket, &task, sizeof(task), 0) == (ssize_t)sizeof(task)) {
		const struct deputy_task *todo = &deputy->tasks.list[task];
		int32_t result = task < deputy->tasks.nr ? todo->run(todo->ctx) : -EINVAL;

		if (send(socket, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			break;
	}
	_exit(0);
}

int deputy_start(struct deputy *deputy, int (*reduce)(void), struct fpl_err *err)
{
	int sockets[2] = { -1, -1 };
	int code = 0;

	if (!deputy->tasks.nr)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		code = -errno;

	/* Ctrl-C reaches the deputy, too, but only the parent handles it */
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);

	pid_t pid = code ? -1 : fork();

	if (pid == 0)
		serve(deputy, sockets[1], reduce);
	if (!code && pid < 0)
		code = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	cleanup_fd(&sockets[1]);
	if (code) {
		cleanup_fd(&sockets[0]);
		return fpl_fail(err, code, "fork: %s", strerror(-code));
	}
	deputy->socket = sockets[0];
	deputy->pid = pid;
	return 0;
}

int deputy_do(struct deputy *deputy, int task)
{
	uint32_t wanted = (uint32_t)task;
	int32_t result;

	if (task < 0 || deputy->socket < 0 ||
	    send(deputy->socket, &wanted, sizeof(wanted), MSG_NOSIGNAL) != sizeof(wanted) ||
	    recv(deputy->socket, &result, sizeof(result), 0) != (ssize_t)sizeof(result))
		return -ECHILD;
	return result;
}

void deputy_fini(struct deputy *deputy)
{
	if (deputy->socket >= 0)
		close(deputy->socket);
	if (deputy->pid > 0)
		waitpid(deputy->pid, NULL, 0);
	vector_fini(&deputy->tasks);
	*deputy = DEPUTY_NONE;
}
