/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/stopped.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

char process_state(pid_t pid)
{
	char path[32], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t nr = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (nr <= 0)
		return '\0';
	text[nr] = '\0';

	/* proc_pid_stat(5): the name in field 2 may hold anything, the state follows it */
	const char *name_end = strrchr(text, ')');

	return name_end && name_end[1] == ' ' ? name_end[2] : '\0';
}

bool process_is_stopped(pid_t pid)
{
	char state = process_state(pid);

	return state == 'T' || state == 't';
}
