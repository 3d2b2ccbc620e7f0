/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/pidfd.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/thread.h"

static int fail_thread(pid_t tid, struct fpl_err *err)
{
	int64_t pid = thread_number(tid, "Tgid:");

	if (pid < 0)
		return fpl_fail(err, -ESRCH, "pid %d: a thread, not a process", (int)tid);
	return fpl_fail(err, -ESRCH,
			"pid %d: a thread of process %d; `profile -t %d' takes it alone", (int)tid,
			(int)pid, (int)tid);
}

int pidfd_of(pid_t pid, int *ret, struct fpl_err *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0) {
		*ret = fd;
		return 0;
	}
	switch (errno) {
	case EINVAL:
	case ENOENT: /* newer kernels: seen with 6.18 */
		return fail_thread(pid, err);
	case ESRCH:
		return fpl_fail(err, -ESRCH, "pid %d: %s", (int)pid, strerror(ESRCH));
	default:
		return fpl_fail(err, -errno, "pid %d: %s", (int)pid, strerror(errno));
	}
}
