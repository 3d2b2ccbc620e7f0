/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/events.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "proc/advice.h"

#define CPUS_MAX 8192

/* The numbers in a list such as "0-3,8", as sysfs writes it. Errors: -EINVAL, -ENOMEM. */
static int parse_cpus(const char *text, int **ret, size_t *ret_nr)
{
	AUTO_FREE int *cpus = calloc(CPUS_MAX, sizeof(*cpus));
	size_t nr = 0;

	if (!cpus)
		return -ENOMEM;
	for (const char *p = text; *p && *p != '\n';) {
		int first, last, used = 0;

		if (sscanf(p, "%d-%d%n", &first, &last, &used) < 2 || !used) {
			if (sscanf(p, "%d%n", &first, &used) < 1)
				return -EINVAL;
			last = first;
		}
		if (first < 0 || last < first || last >= CPUS_MAX)
			return -EINVAL;
		for (int cpu = first; cpu <= last && nr < CPUS_MAX; cpu++)
			cpus[nr++] = cpu;
		p += used;
		if (*p == ',')
			p++;
	}
	*ret = TAKE_PTR(cpus);
	*ret_nr = nr;
	return nr ? 0 : -EINVAL;
}

static int online_cpus(int **ret, size_t *ret_nr)
{
	char text[4096];
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");

	if (file && fgets(text, sizeof(text), file)) {
		fclose(file);
		return parse_cpus(text, ret, ret_nr);
	}
	if (file)
		fclose(file);
	/* no sysfs: they are numbered without gaps on all but odd machines */
	snprintf(text, sizeof(text), "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	return parse_cpus(text, ret, ret_nr);
}

static int open_event(bool clock, const struct engine_options *options, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.config = clock ? (uint64_t)PERF_COUNT_SW_CPU_CLOCK
				: (uint64_t)PERF_COUNT_HW_CPU_CYCLES,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};

	/* the clock's period is exact; cycles need the kernel's control loop to follow the clock */
	if (clock) {
		attr.sample_period = 1000000000u / options->hz;
	} else {
		attr.freq = 1;
		attr.sample_freq = options->hz;
	}

	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool means_no_event(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV || code == -EINVAL;
}

/* Does the first CPU have cycles, if they are wanted? */
static int choose(const struct engine_options *options, int cpu, bool *ret_clock,
		  struct fpl_err *err)
{
	*ret_clock = options->event == ENGINE_EVENT_CPU_CLOCK;
	if (*ret_clock)
		return 0;

	int fd = open_event(false, options, cpu);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (!means_no_event(fd))
		return 0; /* told by the real open */
	if (options->event == ENGINE_EVENT_CPU_CYCLES)
		return fpl_fail(err, -EOPNOTSUPP,
				"cpu-cycles: no such counter on this machine: use -e cpu-clock");
	*ret_clock = true;
	return 0;
}

static int check_rate(const struct engine_options *options, struct fpl_err *err)
{
	unsigned long long max = 0;
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &max) != 1)
		max = 0;
	fclose(file);
	if (max && options->hz > max)
		return fpl_fail(err, -ERANGE,
				"%llu Hz: the kernel allows %llu: raise "
				"kernel.perf_event_max_sample_rate",
				(unsigned long long)options->hz, max);
	return 0;
}

static int open_all(struct events *events, bool clock, const struct engine_options *options,
		    struct fpl_err *err)
{
	size_t nr_open = 0;

	for (size_t i = 0; i < events->nr; i++) {
		int fd = open_event(clock, options, events->cpus[i]);

		if (fd == -ENODEV) /* went offline */
			continue;
		if (advice_is_refusal(fd))
			return advice_fail_events(err, -EACCES, "perf_event_open");
		if (fd < 0)
			return fpl_fail(err, means_no_event(fd) ? -EOPNOTSUPP : fd,
					"%s on CPU %d: perf_event_open: %s", events->name,
					events->cpus[i], strerror(-fd));
		events->fds[i] = fd;
		nr_open++;
	}
	return nr_open ? 0 : fpl_fail(err, -EOPNOTSUPP, "%s: no CPU has it", events->name);
}

int events_open(const struct engine_options *options, struct events *ret, struct fpl_err *err)
{
	struct events events = { .period_ns = 1000000000u / options->hz };
	int code = check_rate(options, err);
	bool clock;

	if (code)
		return code;
	code = online_cpus(&events.cpus, &events.nr);
	if (code)
		return fpl_fail(err, code == -ENOMEM ? code : -EOPNOTSUPP,
				"/sys/devices/system/cpu/online: %s", strerror(-code));
	events.fds = malloc(events.nr * sizeof(int));
	events.links = malloc(events.nr * sizeof(int));
	for (size_t i = 0; events.fds && events.links && i < events.nr; i++)
		events.fds[i] = events.links[i] = -1;
	if (!events.fds || !events.links)
		code = fpl_fail(err, -ENOMEM, "perf events: out of memory");
	if (!code)
		code = choose(options, events.cpus[0], &clock, err);
	if (!code) {
		events.is_second_best = clock && options->event != ENGINE_EVENT_CPU_CLOCK;
		events.name = clock ? "cpu-clock" : "cpu-cycles";
		code = open_all(&events, clock, options, err);
	}
	if (code) {
		events_close(&events);
		return code;
	}
	*ret = events;
	return 0;
}

int events_try(enum engine_event event)
{
	const struct engine_options options = { .hz = 99 };
	AUTO_FREE int *cpus = NULL;
	size_t nr;
	int code = online_cpus(&cpus, &nr);

	if (code)
		return code;

	int fd = open_event(event == ENGINE_EVENT_CPU_CLOCK, &options, cpus[0]);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

void events_close(struct events *events)
{
	for (size_t i = 0; events->fds && events->links && i < events->nr; i++) {
		if (events->links[i] >= 0)
			close(events->links[i]);
		if (events->fds[i] >= 0)
			close(events->fds[i]);
	}
	free(events->cpus);
	free(events->fds);
	free(events->links);
	*events = (struct events){ 0 };
}

int events_attach(struct events *events, int prog_fd, struct fpl_err *err)
{
	for (size_t i = 0; i < events->nr; i++) {
		if (events->fds[i] < 0)
			continue;
		/* not through libbpf's attach, which enables the event at once */
		events->links[i] = bpf_link_create(prog_fd, events->fds[i], BPF_PERF_EVENT, NULL);
		if (events->links[i] < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s on CPU %d: attach: %s", events->name,
					events->cpus[i], strerror(errno));
	}
	return 0;
}

int events_enable(struct events *events, struct fpl_err *err)
{
	for (size_t i = 0; i < events->nr; i++) {
		if (events->fds[i] >= 0 && ioctl(events->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s on CPU %d: enable: %s", events->name,
					events->cpus[i], strerror(errno));
	}
	return 0;
}

void events_disable(struct events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		if (events->fds[i] >= 0)
			ioctl(events->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	}
}

uint64_t events_expected(const struct events *events)
{
	uint64_t enabled_ns = 0;

	for (size_t i = 0; i < events->nr; i++) {
		uint64_t values[2]; /* count, time enabled */

		if (events->fds[i] >= 0 &&
		    read(events->fds[i], values, sizeof(values)) == sizeof(values))
			enabled_ns += values[1];
	}
	return enabled_ns / events->period_ns;
}
