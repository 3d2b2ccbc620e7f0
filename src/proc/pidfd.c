/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/pidfd.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
		return fpl_fail(err, -ESRCH, "pid %d: a thread, not a process", (int)pid);
	case ESRCH:
		return fpl_fail(err, -ESRCH, "pid %d: %s", (int)pid, strerror(ESRCH));
	default:
		return fpl_fail(err, -errno, "pid %d: %s", (int)pid, strerror(errno));
	}
}
