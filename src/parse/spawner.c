/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/served.h"
#include "base/wire.h"
#include "parse/sandbox.h"
#include "parse/worker.h"

#define BURIAL_US 200000u /* some 0.3 s are waited for in all: a worker ends within 1 ms */
#define LEFT_MAX  64u

/* The limit of a process made here. */
static uint32_t nr_fds_allowed(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur < SANDBOX_FDS ? (uint32_t)limit.rlim_cur : SANDBOX_FDS;
}

__attribute__((__noreturn__)) static void become_worker(int sock, bool calm)
{
	size_t nr_kept = spawner_nr_kept(nr_fds_allowed());

	served_keep_only(sock);
	if (calm)
		(void)!setpriority(PRIO_PROCESS, 0, 0);
	if (sandbox_enter_worker(NULL))
		_exit(1);
	worker_main(0, nr_kept);
}

static struct spawner_answer hire(int sock, bool calm)
{
	pid_t pid = sock < 0 ? -1 : fork();

	if (pid == 0)
		become_worker(sock, calm);
	if (pid < 0)
		return (struct spawner_answer){ .code = sock < 0 ? -EINVAL : -errno };
	return (struct spawner_answer){ .value = pid };
}

/*
 * Ends worker @pid. One that waits for a file system that does not answer ends when that does, if
 * ever: it is not waited for, and taken up by whoever is buried after it.
 */
static struct spawner_answer bury(pid_t pid, useconds_t most_us)
{
	static pid_t left[LEFT_MAX];
	static size_t nr_left;
	int status = 0;
	pid_t ended = 0;

	for (size_t i = 0; i < nr_left; i++) {
		if (waitpid(left[i], NULL, WNOHANG) != 0)
			left[i--] = left[--nr_left];
	}
	/* one that has ended keeps the status it has */
	if (pid <= 0 || kill(pid, SIGKILL) < 0)
		return (struct spawner_answer){ .code = -ESRCH };
	for (useconds_t us = 20; us < most_us && !ended; us *= 2) {
		ended = waitpid(pid, &status, WNOHANG);
		if (!ended)
			usleep(us);
	}
	if (!ended && nr_left < LEFT_MAX)
		left[nr_left++] = pid;
	if (ended != pid)
		return (struct spawner_answer){ .code = -ESRCH };
	return (struct spawner_answer){ .value = status };
}

static void serve(void)
{
	struct spawner_request request;
	int fds[WIRE_FDS_MAX];

	while (wire_recv_fds(0, &request, sizeof(request), fds) == 0) {
		struct spawner_answer answer = { .code = -EINVAL };

		if (request.op == SPAWNER_HIRE || request.op == SPAWNER_HIRE_CALM)
			answer = hire(fds[0], request.op == SPAWNER_HIRE_CALM);
		else if (request.op == SPAWNER_BURY)
			answer = bury(request.pid, BURIAL_US);
		else if (request.op == SPAWNER_LEAVE)
			answer = bury(request.pid, 0);
		cleanup_fd(&fds[0]);
		cleanup_fd(&fds[1]);
		if (wire_send(0, &answer, sizeof(answer)))
			break;
	}
}

/*
 * Have the kernel end this process first if a cgroup or the machine has no memory left: a worker
 * costs a file, the profiler all samples. Workers inherit it. Refused, or without /proc: the
 * kernel chooses.
 */
static void die_first(void)
{
	AUTO_FD int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

void spawner_main(int control)
{
	served_begin(control, "fpless-parser");
	die_first();
	/* as the profiler's own threads, so that no sample waits for it; refused: so be it */
	(void)!setpriority(PRIO_PROCESS, 0, -10);

	struct spawner_answer hello = { .code = sandbox_enter_spawner(NULL) };

	hello.value = (int32_t)nr_fds_allowed();
	if (wire_send(0, &hello, sizeof(hello)) == 0 && !hello.code)
		serve();
	/* workers end with their sockets; one that does not listen is ended */
	kill(0, SIGKILL);
	_exit(0);
}
