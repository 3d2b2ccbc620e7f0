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
#include "base/clock.h"
#include "proc/advice.h"
#include "proc/cpu_list.h"

uint64_t events_wanted_period_ns(const struct engine_options *options)
{
	return options->period_ns ? options->period_ns : NS_PER_S / options->hz;
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
		attr.sample_period = events_wanted_period_ns(options);
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

uint64_t events_max_hz(void)
{
	unsigned long long max = 0;
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &max) != 1)
		max = 0;
	fclose(file);
	return max;
}

static int check_rate(const struct engine_options *options, struct fpl_err *err)
{
	uint64_t max = events_max_hz();

	if (max && options->hz > max)
		return fpl_fail(err, -ERANGE,
				"%llu Hz: the kernel allows %llu: raise "
				"kernel.perf_event_max_sample_rate",
				(unsigned long long)options->hz, (unsigned long long)max);
	return 0;
}

static int open_all(struct events *events, bool clock, const struct engine_options *options,
		    struct fpl_err *err)
{
	size_t nr_open = 0;

	for (size_t i = 0; i < events->cpus.nr; i++) {
		int cpu = events->cpus.cpus[i];

		if (options->cpus.nr && !cpu_list_has(&options->cpus, cpu))
			continue;

		int fd = open_event(clock, options, cpu);

		if (fd == -ENODEV) /* went offline */
			continue;
		if (advice_is_refusal(fd))
			return advice_fail_events(err, -EACCES, "perf_event_open");
		if (fd < 0)
			return fpl_fail(err, means_no_event(fd) ? -EOPNOTSUPP : fd,
					"%s on CPU %d: perf_event_open: %s", events->name, cpu,
					strerror(-fd));
		events->fds[i] = fd;
		nr_open++;
	}
	events->nr_sampled = nr_open;
	return nr_open ? 0 : fpl_fail(err, -EOPNOTSUPP, "%s: no CPU has it", events->name);
}

/* Are the CPUs that are to be sampled online? */
static int check_cpus(const struct events *events, const struct cpu_list *wanted,
		      struct fpl_err *err)
{
	for (size_t i = 0; i < wanted->nr; i++)
		if (!cpu_list_has(&events->cpus, wanted->cpus[i]))
			return fpl_fail(err, -ESRCH, "-C: CPU %d is not online", wanted->cpus[i]);
	return 0;
}

int events_open(const struct engine_options *options, struct events *ret, struct fpl_err *err)
{
	struct events events = { .period_ns = events_wanted_period_ns(options) };
	int code = check_rate(options, err);
	bool clock;

	if (code)
		return code;
	code = cpu_list_online(&events.cpus);
	if (code)
		return fpl_fail(err, code == -ENOMEM ? code : -EOPNOTSUPP,
				"/sys/devices/system/cpu/online: %s", strerror(-code));
	events.fds = malloc(events.cpus.nr * sizeof(int));
	events.links = malloc(events.cpus.nr * sizeof(int));
	for (size_t i = 0; events.fds && events.links && i < events.cpus.nr; i++)
		events.fds[i] = events.links[i] = -1;
	if (!events.fds || !events.links)
		code = fpl_fail(err, -ENOMEM, "perf events: out of memory");
	if (!code)
		code = check_cpus(&events, &options->cpus, err);
	if (!code)
		code = choose(options,
			      options->cpus.nr ? options->cpus.cpus[0] : events.cpus.cpus[0],
			      &clock, err);
	if (!code) {
		events.is_second_best = clock && options->event != ENGINE_EVENT_CPU_CLOCK;
		events.is_clock = clock;
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
	struct cpu_list cpus;
	int code = cpu_list_online(&cpus);

	if (code)
		return code;

	int fd = open_event(event == ENGINE_EVENT_CPU_CLOCK, &options, cpus.cpus[0]);

	cpu_list_fini(&cpus);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

void events_close(struct events *events)
{
	for (size_t i = 0; events->fds && events->links && i < events->cpus.nr; i++) {
		if (events->links[i] >= 0)
			close(events->links[i]);
		if (events->fds[i] >= 0)
			close(events->fds[i]);
	}
	cpu_list_fini(&events->cpus);
	free(events->fds);
	free(events->links);
	*events = (struct events){ 0 };
}

int events_attach(struct events *events, int prog_fd, struct fpl_err *err)
{
	for (size_t i = 0; i < events->cpus.nr; i++) {
		if (events->fds[i] < 0)
			continue;
		/* not through libbpf's attach, which enables the event at once */
		events->links[i] = bpf_link_create(prog_fd, events->fds[i], BPF_PERF_EVENT, NULL);
		if (events->links[i] < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s on CPU %d: attach: %s", events->name,
					events->cpus.cpus[i], strerror(errno));
	}
	return 0;
}

int events_enable(struct events *events, struct fpl_err *err)
{
	for (size_t i = 0; i < events->cpus.nr; i++) {
		if (events->fds[i] >= 0 && ioctl(events->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s on CPU %d: enable: %s", events->name,
					events->cpus.cpus[i], strerror(errno));
	}
	return 0;
}

void events_disable(struct events *events)
{
	for (size_t i = 0; i < events->cpus.nr; i++) {
		if (events->fds[i] >= 0)
			ioctl(events->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	}
}

static uint64_t enabled_ns(const struct events *events)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < events->cpus.nr; i++) {
		uint64_t values[2]; /* count, time enabled */

		if (events->fds[i] >= 0 &&
		    read(events->fds[i], values, sizeof(values)) == sizeof(values))
			sum += values[1];
	}
	return sum;
}

uint64_t events_expected(const struct events *events)
{
	return events->expected_before +
	       (enabled_ns(events) - events->enabled_before_ns) / events->period_ns;
}

void events_set_period(struct events *events, uint64_t period_ns)
{
	/* of the clock the period, of cycles the frequency that the kernel is to follow */
	uint64_t value = events->is_clock ? period_ns : 1000000000u / period_ns;

	events->expected_before = events_expected(events);
	events->enabled_before_ns = enabled_ns(events);
	events->period_ns = period_ns;
	for (size_t i = 0; i < events->cpus.nr; i++) {
		if (events->fds[i] >= 0)
			ioctl(events->fds[i], PERF_EVENT_IOC_PERIOD, &value);
	}
}
