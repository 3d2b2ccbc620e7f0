/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/thread.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"

static void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static FILE *open_status(pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	return fopen(path, "re");
}

/* Blanks, digits, white space: what is cut off has none at its end. */
static int64_t number_of(const char *text)
{
	char *end;
	long long value;

	text += strspn(text, " \t");
	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno || !isspace((unsigned char)*end) ? -1 : value;
}

int64_t thread_number_in(FILE *status, const char *key)
{
	size_t length = strlen(key);
	bool begins = true; /* a line: the list of groups is longer than the buffer */
	char text[128];

	while (fgets(text, sizeof(text), status)) {
		if (begins && strncmp(text, key, length) == 0)
			return number_of(text + length);
		begins = strchr(text, '\n') != NULL;
	}
	return -1;
}

int64_t thread_number(pid_t tid, const char *key)
{
	CLEANUP(cleanup_file) FILE *status = open_status(tid);

	return status ? thread_number_in(status, key) : -1;
}

int thread_process(pid_t tid, pid_t *ret, struct fpl_err *err)
{
	CLEANUP(cleanup_file) FILE *status = open_status(tid);

	if (!status && errno != ENOENT && errno != ESRCH)
		return fpl_fail(err, -errno, "thread %d: %s", (int)tid, strerror(errno));

	int64_t pid = status ? thread_number_in(status, "Tgid:") : -1;

	if (pid < 0 || pid > INT32_MAX)
		return fpl_fail(err, -ESRCH, "thread %d: no such thread", (int)tid);
	*ret = (pid_t)pid;
	return 0;
}

char thread_state_in(const char *status)
{
	/* the first line is the name, without line breaks of its own */
	const char *line = strstr(status, "\nState:\t");

	return line ? line[strlen("\nState:\t")] : '\0';
}

/* Bits of task_struct.__state, include/linux/sched.h: the same since 6.1. */
#define UNINTERRUPTIBLE 0x2u
#define NOLOAD		0x400u
#define RTLOCK_WAIT	0x1000u
#define FROZEN		0x8000u

const char *thread_state_text(uint64_t state)
{
	static const struct {
		unsigned bit;
		const char *text;
	} states[] = { /* the kernel's order: the highest bit tells */
		       { 0x40, "P (parked)" },
		       { 0x20, "Z (zombie)" },
		       { 0x10, "X (dead)" },
		       { 0x8, "t (tracing stop)" },
		       { 0x4, "T (stopped)" },
		       { UNINTERRUPTIBLE | RTLOCK_WAIT | FROZEN, "D (disk sleep)" },
		       { 0x1, "S (sleeping)" }
	};

	if ((state & (UNINTERRUPTIBLE | NOLOAD)) == (UNINTERRUPTIBLE | NOLOAD))
		return "I (idle)";
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (state & states[i].bit)
			return states[i].text;
	}
	return "R (runnable)";
}

char thread_state(pid_t pid, pid_t tid)
{
	char path[64], text[512];

	/* not stat, which blocks for a process during its exec */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : io_read(fd, text, sizeof(text) - 1);

	text[size < 0 ? 0 : size] = '\0';
	return thread_state_in(text);
}

bool process_has_memory_in(const char *status)
{
	/* the size of memory comes before the number of threads */
	return strstr(status, "\nVmSize:") || !strstr(status, "\nThreads:");
}

char process_glance(pid_t pid, bool *ret_has_memory)
{
	char path[64], text[2048];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[size < 0 ? 0 : size] = '\0';
	*ret_has_memory = process_has_memory_in(text);
	return thread_state_in(text);
}

bool thread_is_alive(pid_t pid, pid_t tid)
{
	char state = thread_state(pid, tid);

	return state && !strchr("ZXx", state);
}
