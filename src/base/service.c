/* SPDX-License-Identifier: Apache-2.0 */
#include "base/service.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

/* Connect to @path, which is absolute, or abstract with a '@' in front. Returns -errno or the
 * socket. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	int fd, code;

	if ((path[0] != '/' && path[0] != '@') || length < 2 || length >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&address, size))
		return fd;
	code = -errno;
	close(fd);
	return code;
}

/* The watchdog's time, where it is meant for this process: sd_watchdog_enabled(3). */
static uint64_t find_watchdog(void)
{
	const char *time = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t time_us, of_pid;

	if (!time || !text_to_number(time, UINT64_MAX - 1, &time_us))
		return 0;
	if (pid && (!text_to_number(pid, INT32_MAX, &of_pid) || of_pid != (uint64_t)getpid()))
		return 0;
	return time_us;
}

void service_open(struct service *ret)
{
	const char *path = getenv("NOTIFY_SOCKET");

	*ret = SERVICE_NONE;
	if (path) {
		ret->fd = connect_to(path);
		if (ret->fd < 0)
			fpl_log(FPL_LOG_WARN, "NOTIFY_SOCKET %s: %s", path, strerror(-ret->fd));
		else
			ret->watchdog_us = find_watchdog();
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void service_close(struct service *service)
{
	if (service->fd >= 0)
		close(service->fd);
	*service = SERVICE_NONE;
}

void service_tell(const struct service *service, const char *format, ...)
{
	char text[1024];
	va_list args;
	int length;

	if (service->fd < 0)
		return;
	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length <= 0)
		return;
	if ((size_t)length >= sizeof(text))
		length = sizeof(text) - 1;
	/* a manager that does not read misses it */
	(void)!send(service->fd, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int service_open_end(int *ret_fd, struct fpl_err *err)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	sigaction(SIGPIPE, &ignored, NULL);
	*ret_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? fpl_fail(err, -errno, "signalfd: %s", strerror(errno)) : 0;
}
