/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/opener_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/served.h"
#include "base/wire.h"
#include "obj/file_stat.h"
#include "obj/trusted_path.h"

/* Keep the capabilities needed to reach files of other users and in other namespaces. */
static void reduce_rights(bool keeps_some)
{
	static const struct {
		unsigned int cap, also; /* @also includes it and serves if only that one is held */
	} wanted[] = {
		{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE },
		{ CAP_SYS_PTRACE, CAP_SYS_PTRACE },
		{ CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN },
	};
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	struct __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &header, held) < 0)
		_exit(1);
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	for (size_t i = 0; keeps_some && i < ARRAY_SIZE(wanted); i++) {
		unsigned int cap = wanted[i].cap;

		if (!(held[cap / 32].permitted >> cap % 32 & 1))
			cap = wanted[i].also;
		kept[cap / 32].permitted |= held[cap / 32].permitted & 1u << cap % 32;
		kept[cap / 32].effective = kept[cap / 32].permitted;
	}
	if (syscall(SYS_capset, &header, kept) < 0)
		_exit(1);
}

/* Put a file into a message of a socket: if no process takes it out, none has to close it. */
static int seal(int file_fd, int *ret_sock)
{
	int socks[2], code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	code = wire_send_fds(socks[0], "", 1, &file_fd, 1);
	close(socks[0]);
	if (code)
		close(socks[1]);
	else
		*ret_sock = socks[1];
	return code;
}

/* Opening anything else can have effects. */
static int open_place(int place_fd, int *ret_file)
{
	struct stat st;
	char link[32];
	int code = file_stat(place_fd, &st, NULL), fd;

	if (code || !S_ISREG(st.st_mode))
		return code ? code : -ENOEXEC;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place_fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_file = fd;
	return 0;
}

/* To a place, whatever is asked: nothing is opened, made or cut. */
static int walk(const struct opener_request *request, int folder, int *ret)
{
	struct open_how how = { .flags = (request->flags & (O_NOFOLLOW | O_DIRECTORY)) | O_PATH |
					 O_CLOEXEC,
				.resolve = request->resolve };

	*ret = (int)syscall(SYS_openat2, folder < 0 ? AT_FDCWD : folder, request->path, &how,
			    sizeof(how));
	return *ret < 0 ? -errno : 0;
}

/* Answer one request. Closing an opened file may wait for ever: it comes last. */
static int answer(struct opener_request *request, int fd)
{
	AUTO_FD int file = -1;
	AUTO_FD int result = -1;
	int32_t code = -EINVAL;

	request->path[sizeof(request->path) - 1] = '\0';
	if (request->op == OPENER_OPEN) {
		code = fd < 0 ? -EBADF : open_place(fd, &file);
		if (!code)
			code = seal(file, &result);
	} else if (request->op == OPENER_WALK) {
		code = walk(request, fd, &result);
	} else if (request->op == OPENER_WALK_TRUSTED) {
		code = trusted_path_open(request->path, geteuid(), &result);
	}
	return wire_send_fds(0, &code, sizeof(code), &result, !code);
}

__attribute__((__noreturn__)) static void become_opener(int sock)
{
	struct opener_request request;
	int fds[WIRE_FDS_MAX], rc = 0;

	served_keep_only(sock);
	prctl(PR_SET_NAME, "fpless-opener");
	while (!rc && wire_recv_fds(0, &request, sizeof(request), fds) == 0) {
		rc = answer(&request, fds[0]);
		for (size_t i = 0; i < WIRE_FDS_MAX; i++)
			cleanup_fd(&fds[i]);
	}
	_exit(0);
}

static int32_t begin(int sock)
{
	pid_t pid = sock < 0 ? -1 : fork();

	if (pid == 0)
		become_opener(sock);
	return pid < 0 ? (sock < 0 ? -EINVAL : -errno) : pid;
}

/* Kill only a child that has not been waited for: its number cannot be reused. */
static void end(pid_t pid)
{
	if (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0)
		kill(pid, SIGKILL);
}

static void serve(void)
{
	struct opener_command command;
	int fds[WIRE_FDS_MAX];

	while (wire_recv_fds(0, &command, sizeof(command), fds) == 0) {
		int code = 0;

		if (command.order == OPENER_BEGIN) {
			int32_t pid = begin(fds[0]);

			code = wire_send(0, &pid, sizeof(pid));
		} else {
			end(command.pid);
		}
		for (size_t i = 0; i < WIRE_FDS_MAX; i++)
			cleanup_fd(&fds[i]);
		/* reap those that have ended; one that waits in the kernel has not */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (code)
			break;
	}
}

void opener_process_main(int control, bool has_rights)
{
	served_begin(control, "fpless-openers");
	reduce_rights(has_rights);
	serve();
	/* those that wait for a file system end when it answers */
	kill(0, SIGKILL);
	_exit(0);
}
