/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the service manager that started this process (sd_notify(3)), over the socket that
 * $NOTIFY_SOCKET names. Without one all functions do nothing.
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
