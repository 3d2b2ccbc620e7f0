/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

int thread_process(pid_t tid, pid_t *ret, struct fpl_err *err)
{
	char line[128];
	int pid;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)tid);

	CLEANUP(cleanup_file) FILE *file = fopen(line, "re");

	if (!file && errno != ENOENT && errno != ESRCH)
		return fpl_fail(err, -errno, "thread %d: %s", (int)tid, strerror(errno));
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &pid) == 1) {
			*ret = pid;
			return 0;
		}
	}
	return fpl_fail(err, -ESRCH, "thread %d: no such thread", (int)tid);
}

bool thread_is_alive(pid_t pid, pid_t tid)
{
	char text[512];
	size_t size;

	snprintf(text, sizeof(text), "/proc/%d/task/%d/stat", (int)pid, (int)tid);

	CLEANUP(cleanup_file) FILE *file = fopen(text, "re");

	if (!file)
		return false;
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';

	/* number (name) state: the name may hold anything */
	const char *name_end = strrchr(text, ')');

	return name_end && name_end[1] == ' ' && !strchr("ZXx", name_end[2]);
}
