/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

/* The whole of a small file as a string; false: it cannot be had. */
static bool read_text(const char *path, char *text, size_t size)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : io_read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

#define HELPERS_MAX 64 /* a spawner, a privileged helper, and a worker per thread */

static uint64_t rss_anon_bytes(pid_t pid)
{
	unsigned long long resident, shared; /* pages */
	char text[256], path[64];

	/* what RssAnon in its status is made of, for a third of the time: shared is all the rest */
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!read_text(path, text, sizeof(text)) ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || resident < shared)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t usage_rss_anon_bytes(void)
{
	return rss_anon_bytes(getpid());
}

/* The number of kB behind a key of a status file of /proc, in bytes; 0: not found. */
static uint64_t status_bytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) << 10 : 0;
}

/* The kernel keeps the peak of all that was resident: what is of files now is taken off. */
static uint64_t rss_anon_peak_bytes(pid_t pid)
{
	char text[4096], path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!read_text(path, text, sizeof(text)))
		return 0;

	uint64_t peak = status_bytes(text, "\nVmHWM:");
	uint64_t files = status_bytes(text, "\nRssFile:") + status_bytes(text, "\nRssShmem:");

	return peak > files ? peak - files : 0;
}

/* proc_pid_stat(5): utime, stime, cutime and cstime, fields 14 to 17. */
static uint64_t cpu_ns_of(pid_t pid)
{
	static const char format[] =
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu";
	unsigned long long ticks[4];
	char text[1024], path[64];
	const char *name_end;
	long hz = sysconf(_SC_CLK_TCK);

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (hz <= 0 || !read_text(path, text, sizeof(text)))
		return 0;
	name_end = strrchr(text, ')'); /* the name may hold anything, parentheses too */
	if (!name_end ||
	    sscanf(name_end + 1, format, &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 4)
		return 0;
	return (ticks[0] + ticks[1] + ticks[2] + ticks[3]) * (1000000000u / (uint64_t)hz);
}

struct pids {
	pid_t list[HELPERS_MAX];
	size_t nr;
};

/* Adds the children of all threads of @pid. */
static void add_children(pid_t pid, struct pids *pids)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);

	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char file[128], text[1024];

		snprintf(file, sizeof(file), "%s/%.20s/children", path, entry->d_name);
		if (entry->d_name[0] == '.' || !read_text(file, text, sizeof(text)))
			continue;
		for (char *rest = text, *end; pids->nr < HELPERS_MAX; rest = end) {
			pid_t child = (pid_t)strtol(rest, &end, 10);

			if (end == rest)
				break;
			pids->list[pids->nr++] = child;
		}
	}
	if (dir)
		closedir(dir);
}

void usage_helpers(pid_t except, struct usage_helpers *ret)
{
	struct pids pids = { .nr = 0 };

	*ret = (struct usage_helpers){ 0 };
	add_children(getpid(), &pids);
	for (size_t i = 0; i < pids.nr; i++) {
		if (pids.list[i] == except)
			continue;
		ret->cpu_ns += cpu_ns_of(pids.list[i]);
		ret->rss_anon_peak_bytes += rss_anon_peak_bytes(pids.list[i]);
		add_children(pids.list[i], &pids);
	}
}

uint64_t usage_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}
