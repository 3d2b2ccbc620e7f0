/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/named.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define COMM_BYTES 16 /* of the kernel, with the end */

/* comm and exe wait for no lock of the process: an exec that does not end holds up neither. */
static bool has_comm(pid_t pid, const char *name)
{
	char path[64], comm[COMM_BYTES + 1], wanted[COMM_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);

	if (size < 1)
		return false;
	comm[size - 1] = '\0'; /* a line end */
	snprintf(wanted, sizeof(wanted), "%s", name);
	return !strcmp(comm, wanted);
}

static bool has_executable(pid_t pid, const char *name)
{
	char path[64], target[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	ssize_t size = readlink(path, target, sizeof(target) - 1);

	if (size < 0)
		return false;
	target[size] = '\0';
	return !strcmp(text_path_name(target), name);
}

static bool is_listed(const struct pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->list[i] == pid)
			return true;
	return false;
}

int named_processes(const char *name, struct pid_list *to)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int error = 0;

	if (!proc)
		return -errno;
	while (!error && (entry = readdir(proc))) {
		uint64_t pid;

		if (!text_to_number(entry->d_name, INT_MAX, &pid) || (pid_t)pid == getpid() ||
		    is_listed(to, (pid_t)pid))
			continue;
		if (has_comm((pid_t)pid, name) || has_executable((pid_t)pid, name))
			error = vector_push(to, (pid_t)pid);
	}
	closedir(proc);
	return error;
}
