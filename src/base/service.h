/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager that started this process gets messages (sd_notify(3)) over the socket that
 * $NOTIFY_SOCKET names; without one the functions of struct service do nothing. Signals that end a
 * service are read from a descriptor.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct service {
	int fd;		      /* owned: connected; -1: no service manager */
	uint64_t watchdog_us; /* the manager ends a service that is silent for so long; 0: never */
};

#define SERVICE_NONE ((struct service){ .fd = -1 })

/*
 * Connect, and remove the variables from the environment: they are not for commands. To be called
 * while the process has one thread, and before system calls are filtered. A socket that is not
 * there costs a line.
 */
void service_open(struct service *ret);

/* Safe on SERVICE_NONE, and twice. */
void service_close(struct service *service);

/* Send lines of "NAME=value", at most 1 KiB, without waiting. By any thread. */
FPL_PRINTF(2, 3) void service_tell(const struct service *service, const char *format, ...);

/*
 * Block SIGTERM, SIGINT and SIGHUP, ignore SIGPIPE, and open in *ret_fd, which is the caller's, a
 * descriptor that is readable once the process is to end. Before there are threads. Errors: those
 * of signalfd(2).
 */
FPL_MUST_CHECK int service_open_end(int *ret_fd, struct fpl_err *err);
