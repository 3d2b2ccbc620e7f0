/* SPDX-License-Identifier: Apache-2.0 */
#include "base/privileged_helper.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
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
	if (vector_push(&helper->tasks, { .run = run, .ctx = ctx, .fd = fd }))
		return -ENOMEM;
	return (int)helper->tasks.nr - 1;
}

int helper_add_make(struct privileged_helper *helper, helper_make_fn make, void *ctx, int fd)
{
	if (vector_push(&helper->tasks, { .make = make, .ctx = ctx, .fd = fd }))
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

struct request {
	uint64_t arg;
	uint32_t task, zero;
};

static int32_t perform(const struct privileged_helper *helper, const struct request *request,
		       int *ret_fd)
{
	const struct helper_task *task;

	if (request->task >= helper->tasks.nr)
		return -EINVAL;
	task = &helper->tasks.list[request->task];
	return task->make ? task->make(task->ctx, request->arg, ret_fd) : task->run(task->ctx);
}

/* A result, and a descriptor beside it, or room for one. */
struct reply {
	int32_t result;
	struct iovec part;
	struct msghdr message;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control; /* last: a header ends in an array without a size */
};

static void reply_init(struct reply *reply)
{
	*reply = (struct reply){ .result = -ECHILD };
	reply->part = (struct iovec){ &reply->result, sizeof(reply->result) };
	reply->message = (struct msghdr){
		.msg_iov = &reply->part,
		.msg_iovlen = 1,
		.msg_control = reply->control.bytes,
		.msg_controllen = sizeof(reply->control.bytes),
	};
}

/* @fd: -1: none. */
static int answer(int socket, int32_t result, int fd)
{
	struct reply reply;

	reply_init(&reply);
	reply.result = result;
	if (fd >= 0) {
		reply.control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
							 .cmsg_level = SOL_SOCKET,
							 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&reply.control.header), &fd, sizeof(fd));
	} else {
		reply.message.msg_control = NULL;
		reply.message.msg_controllen = 0;
	}
	return sendmsg(socket, &reply.message, MSG_NOSIGNAL) == sizeof(result) ? 0 : -errno;
}

/* Runs in the child; does not return. */
__attribute__((__noreturn__)) static void serve(const struct privileged_helper *helper, int socket,
						int (*reduce)(void))
{
	struct request request;

	close_others(helper, socket);
	if (reduce())
		_exit(1);
	while (recv(socket, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		AUTO_FD int fd = -1;
		int32_t result = perform(helper, &request, &fd);

		if (answer(socket, result, fd))
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

/* Threads take turns: an answer is for who asked last. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static int exchange(const struct privileged_helper *helper, int task, uint64_t arg, int *ret_fd)
{
	const struct request request = { .arg = arg, .task = (uint32_t)task };
	struct reply reply;

	*ret_fd = -1;
	if (task < 0 || helper->socket < 0)
		return -ECHILD;
	reply_init(&reply);
	if (send(helper->socket, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
	    recvmsg(helper->socket, &reply.message, MSG_CMSG_CLOEXEC) !=
		    (ssize_t)sizeof(reply.result))
		return -ECHILD;
	if (reply.message.msg_controllen)
		memcpy(ret_fd, CMSG_DATA(&reply.control.header), sizeof(*ret_fd));
	return reply.result;
}

int helper_make(struct privileged_helper *helper, int task, uint64_t arg, int *ret_fd)
{
	int result;

	pthread_mutex_lock(&turn);
	result = exchange(helper, task, arg, ret_fd);
	pthread_mutex_unlock(&turn);
	if (!result && *ret_fd < 0)
		result = -EMFILE; /* it came, and there was no room for it */
	if (result)
		cleanup_fd(ret_fd);
	return result;
}

int helper_do(struct privileged_helper *helper, int task)
{
	int result, fd;

	pthread_mutex_lock(&turn);
	result = exchange(helper, task, 0, &fd);
	pthread_mutex_unlock(&turn);
	cleanup_fd(&fd);
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
