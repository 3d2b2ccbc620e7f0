/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/probe_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "proc/advice.h"
#include "proc/host.h"

#define DEVICES "/sys/bus/event_source/devices/"

/* Read a file of the device @name: what stands behind @before, which is a number. Errors: -ENOENT
 * there is no such file. */
static int read_number(const char *name, const char *file, const char *before, unsigned int *ret)
{
	char path[128], text[64];
	ssize_t nr;

	snprintf(path, sizeof(path), DEVICES "%s/%s", name, file);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	nr = fd < 0 ? -1 : io_read(fd, text, sizeof(text) - 1);
	if (nr < 0)
		return -ENOENT;
	text[nr] = '\0';
	if (strncmp(text, before, strlen(before)) != 0 ||
	    sscanf(text + strlen(before), "%u", ret) != 1)
		return -ENOENT;
	return 0;
}

int probe_device_read(enum probe_kind kind, struct probe_device *ret, struct fpl_err *err)
{
	bool is_kernel = probe_is_of_kernel(kind);
	const char *name = is_kernel ? "kprobe" : "uprobe";
	int code = read_number(name, "type", "", &ret->type);

	if (!code && probe_is_return(kind))
		code = read_number(name, "format/retprobe", "config:", &ret->return_bit);
	if (code)
		return fpl_fail(err, -EOPNOTSUPP, "%s: this kernel has none (no " DEVICES "%s)",
				probe_kind_text(kind), name);
	if (is_kernel || read_number(name, "format/ref_ctr_offset", "config:", &ret->counter_shift))
		ret->counter_shift = 0;
	return 0;
}

int probe_event_open(const struct probe_device *device, const struct probe_place *place, pid_t pid,
		     int cpu)
{
	char path[32];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = device->type,
		.config = (probe_is_return(place->kind) ? 1ull << device->return_bit : 0) |
			  (place->ref_ctr_off << device->counter_shift),
		.sample_period = 1,
		.probe_offset = place->off,
	};
	int fd;

	if (probe_is_of_kernel(place->kind)) {
		attr.kprobe_func = (uint64_t)(uintptr_t)place->function;
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", place->file_fd);
		attr.uprobe_path = (uint64_t)(uintptr_t)path;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? cpu : -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int probe_event_check_counter(const struct probe_device *device, uint64_t ref_ctr_off,
			      const char *name, struct fpl_err *err)
{
	if (ref_ctr_off && (!device->counter_shift || ref_ctr_off > UINT32_MAX))
		return fpl_fail(
			err, -EOPNOTSUPP,
			"%s: its code runs while a counter in the program is not 0 (a semaphore), which this kernel cannot count",
			name);
	return 0;
}

/* The kernel wants more for probes than for other events. */
int probe_event_fail_rights(const char *name, struct fpl_err *err)
{
	struct host host;

	host_read("", &host);
	if (host_has_cap(&host, CAP_SYS_ADMIN))
		return advice_fail_events(err, -EACCES, "perf_event_open");
	return fpl_fail(
		err, -EACCES,
		"%s: probes need CAP_SYS_ADMIN, which is given up once they are set: run as root",
		name);
}

/*
 * Does the process have its memory by its main thread, which may have ended before others? The
 * kernel goes by that thread.
 */
static bool has_main_thread(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);

	AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	char target[8];

	return fd >= 0 && readlinkat(fd, "", target, sizeof(target)) > 0;
}

bool probe_event_is_of_processes(const struct engine_options *options, size_t nr)
{
	if (options->target != ENGINE_TARGET_PIDS || !options->nr_pids ||
	    options->nr_pids > PROBE_EVENTS_MAX / nr)
		return false;
	for (size_t i = 0; i < options->nr_pids; i++)
		if (!has_main_thread(options->pids[i]))
			return false;
	return true;
}
