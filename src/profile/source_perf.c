/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source_kinds.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/advice.h"

/* For a try: samples that come too rarely to cost anything. */
#define TRY_HZ	   99
#define TRY_PERIOD 1000003u

/* Source.own. */
struct perf_events {
	struct source_spec spec; /* of what is open, which may be second best */
	int *fds;		 /* owned [cpus.nr]; -1: not to be sampled, or it went offline */
	int *links;		 /* owned [cpus.nr]: BPF links, -1: none */
	/* up to the last change of the period: samples that should have fired, time enabled */
	uint64_t expected_before, enabled_before_ns;
};

/*
 * Have the kernel leave out what perf has it leave out for the same word. A clock's own filter is
 * the program's (bpf/sample.h): the kernel would not tell how many of its ticks it left out, so
 * that samples which are missed could not be told from them.
 */
static void exclude_modes(const struct source_spec *spec, struct perf_event_attr *attr)
{
	if (spec->class == SOURCE_CLOCK)
		return;
	attr->exclude_user = spec->exclude_user;
	attr->exclude_kernel = spec->exclude_kernel;
	attr->exclude_hv = spec->exclude_hv;
	attr->exclude_guest = !spec->exclude_user;
}

/* By @period, in the source's unit, or, for a counter of cycles, by @hz. */
static int open_event(const struct source_spec *spec, uint64_t period, uint64_t hz, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = spec->perf_type,
		.config = spec->perf_config,
		.sample_period = period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};

	exclude_modes(spec, &attr);
	if (spec->perf_type == PERF_TYPE_BREAKPOINT) {
		attr.bp_type = spec->breakpoint.access;
		attr.bp_addr = spec->breakpoint.addr;
		attr.bp_len = spec->breakpoint.len;
	}
	/* the clock's period is exact; cycles need the kernel's control loop to follow the clock */
	if (spec->class == SOURCE_CLOCK && spec->perf_type == PERF_TYPE_HARDWARE) {
		attr.freq = 1;
		attr.sample_freq = hz;
	}

	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool means_no_event(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV || code == -EINVAL;
}

/* Errors: of perf_event_open. */
static int try_event(const struct source_spec *spec, int cpu)
{
	uint64_t period = spec->class == SOURCE_CLOCK ? NS_PER_S / TRY_HZ : TRY_PERIOD;
	int fd = open_event(spec, period, TRY_HZ, cpu);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Can the first CPU watch the bytes? */
static int check_breakpoint(const struct source_spec *spec, int cpu, struct fpl_err *err)
{
	int code = try_event(spec, cpu);

	if (code == -ENOSPC)
		return fpl_fail(err, -EOPNOTSUPP, "%s: all debug registers of the CPU are in use",
				spec->name);
	if (code == -EINVAL)
		return fpl_fail(err, -EINVAL, "-e %s: this CPU watches no such access there",
				spec->name);
	return means_no_event(code)
		       ? fpl_fail(err, -EOPNOTSUPP, "%s: this machine has no debug registers",
				  spec->name)
		       : 0;
}

/* Does the first CPU have the counter, if one is wanted? */
static int choose(struct source *source, const struct engine_options *options, struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct perf_events *events = source->own;
	int cpu = options->cpus.nr ? options->cpus.cpus[0] : source->cpus.cpus[0], code = 0;

	events->spec = *spec;
	if (spec->perf_type == PERF_TYPE_BREAKPOINT)
		return check_breakpoint(spec, cpu, err);
	if (spec->perf_type == PERF_TYPE_HARDWARE || spec->perf_type == PERF_TYPE_RAW)
		code = try_event(spec, cpu);
	if (!means_no_event(code))
		return 0; /* another error is told by the real open */
	if (!spec->or_clock)
		return fpl_fail(
			err, -EOPNOTSUPP, "%s: no such counter on this machine: %s", spec->name,
			spec->class == SOURCE_CLOCK ? "use -e cpu-clock"
						    : "it has no PMU, or a virtual one without it");
	events->spec = source_spec_cpu_clock();
	source->is_second_best = true;
	return 0;
}

uint64_t source_max_hz(void)
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

static int check_rate(const struct source_spec *spec, const struct engine_options *options,
		      struct fpl_err *err)
{
	uint64_t max = source_max_hz();

	if (spec->class == SOURCE_CLOCK && max && options->hz > max)
		return fpl_fail(err, -ERANGE,
				"%llu Hz: the kernel allows %llu: raise "
				"kernel.perf_event_max_sample_rate",
				(unsigned long long)options->hz, (unsigned long long)max);
	/* a sample of each instruction would leave no time for anything else */
	if (spec->class == SOURCE_HARDWARE && !spec->period)
		return fpl_fail(err, -EINVAL, "%s: needs -c N, which samples one in N of them",
				spec->name);
	return 0;
}

/* Describe the source, whose spec is chosen. */
static void describe(struct source *source, const struct engine_options *options)
{
	const struct perf_events *events = source->own;
	uint64_t period = source_asked(source, options)->period;
	bool is_clock = events->spec.class == SOURCE_CLOCK;
	struct profile_source *what = &source->what;

	memcpy(what->name, events->spec.name, sizeof(what->name));
	if (is_clock) {
		what->hz = options->hz;
		what->period = period ? period : NS_PER_S / options->hz;
	} else {
		memcpy(what->type, events->spec.name, sizeof(what->type));
		memcpy(what->unit, "count", sizeof("count"));
		what->period = period ? period : 1;
	}
	source->period = what->period;
}

static int open_all(struct source *source, const struct engine_options *options,
		    struct fpl_err *err)
{
	struct perf_events *events = source->own;
	const char *name = events->spec.name;

	for (size_t i = 0; i < source->cpus.nr; i++) {
		int cpu = source->cpus.cpus[i];

		if (options->cpus.nr && !cpu_list_has(&options->cpus, cpu))
			continue;

		int fd = open_event(&events->spec, source->period, options->hz, cpu);

		if (fd == -ENODEV) /* went offline */
			continue;
		if (advice_is_refusal(fd))
			return advice_fail_events(err, -EACCES, "perf_event_open");
		if (fd < 0)
			return fpl_fail(err, means_no_event(fd) ? -EOPNOTSUPP : fd,
					"%s on CPU %d: perf_event_open: %s", name, cpu,
					strerror(-fd));
		events->fds[i] = fd;
		source->nr_sampled++;
	}
	return source->nr_sampled ? 0 : fpl_fail(err, -EOPNOTSUPP, "%s: no CPU has it", name);
}

static int perf_open(struct source *source, const struct engine_options *options,
		     struct fpl_err *err)
{
	struct perf_events *events = calloc(1, sizeof(*events));
	size_t nr = source->cpus.nr;
	int code;

	source->own = events;
	if (events) {
		events->fds = malloc(nr * sizeof(int));
		events->links = malloc(nr * sizeof(int));
	}
	if (!events || !events->fds || !events->links)
		return fpl_fail(err, -ENOMEM, "perf events: out of memory");
	for (size_t i = 0; i < nr; i++)
		events->fds[i] = events->links[i] = -1;
	code = choose(source, options, err);
	if (!code)
		code = check_rate(source_asked(source, options), options, err);
	if (code)
		return code;
	describe(source, options);
	return open_all(source, options, err);
}

int source_try(const struct source_spec *spec)
{
	struct cpu_list cpus;
	int code = cpu_list_online(&cpus);

	if (code)
		return code;
	code = try_event(spec, cpus.cpus[0]);
	cpu_list_fini(&cpus);
	return code;
}

static void perf_close(struct source *source)
{
	struct perf_events *events = source->own;

	if (!events)
		return;
	for (size_t i = 0; events->fds && events->links && i < source->cpus.nr; i++) {
		if (events->links[i] >= 0)
			close(events->links[i]);
		if (events->fds[i] >= 0)
			close(events->fds[i]);
	}
	free(events->fds);
	free(events->links);
	free(events);
}

static int perf_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct perf_events *events = source->own;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = source->number);

	for (size_t i = 0; i < source->cpus.nr; i++) {
		if (events->fds[i] < 0)
			continue;
		/* not through libbpf's attach, which enables the event at once */
		events->links[i] = bpf_link_create(prog_fd, events->fds[i], BPF_PERF_EVENT, &opts);
		if (events->links[i] < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s on CPU %d: attach: %s",
					source->what.name, source->cpus.cpus[i], strerror(errno));
	}
	return 0;
}

static int perf_enable(struct source *source, struct fpl_err *err)
{
	const struct perf_events *events = source->own;

	for (size_t i = 0; i < source->cpus.nr; i++) {
		if (events->fds[i] >= 0 && ioctl(events->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s on CPU %d: enable: %s",
					source->what.name, source->cpus.cpus[i], strerror(errno));
	}
	return 0;
}

static void perf_disable(struct source *source)
{
	const struct perf_events *events = source->own;

	for (size_t i = 0; i < source->cpus.nr; i++) {
		if (events->fds[i] >= 0)
			ioctl(events->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	}
}

/* Read the kernel's counts on the @i-th CPU: events, and time enabled. */
static bool read_counts(const struct source *source, size_t i, uint64_t ret[2])
{
	const struct perf_events *events = source->own;

	return events->fds[i] >= 0 &&
	       read(events->fds[i], ret, 2 * sizeof(*ret)) == 2 * sizeof(*ret);
}

static uint64_t enabled_ns(const struct source *source)
{
	uint64_t sum = 0, values[2];

	for (size_t i = 0; i < source->cpus.nr; i++)
		if (read_counts(source, i, values))
			sum += values[1];
	return sum;
}

static uint64_t perf_expected(const struct source *source)
{
	const struct perf_events *events = source->own;

	return events->expected_before +
	       (enabled_ns(source) - events->enabled_before_ns) / source->period;
}

/* Each CPU samples its own one in so many. */
static uint64_t perf_counted(const struct source *source, uint64_t fired)
{
	uint64_t sum = 0, values[2];

	(void)fired;
	for (size_t i = 0; i < source->cpus.nr; i++)
		if (read_counts(source, i, values))
			sum += values[0] / source->period;
	return sum;
}

static void perf_set_period(struct source *source, uint64_t period_ns)
{
	struct perf_events *events = source->own;
	/* of the clock the period, of cycles the frequency that the kernel is to follow */
	uint64_t value =
		events->spec.perf_type == PERF_TYPE_SOFTWARE ? period_ns : NS_PER_S / period_ns;

	events->expected_before = perf_expected(source);
	events->enabled_before_ns = enabled_ns(source);
	source->period = period_ns;
	for (size_t i = 0; i < source->cpus.nr; i++) {
		if (events->fds[i] >= 0)
			ioctl(events->fds[i], PERF_EVENT_IOC_PERIOD, &value);
	}
}

const struct source_ops source_perf_ops = {
	.open = perf_open,
	.attach = perf_attach,
	.enable = perf_enable,
	.disable = perf_disable,
	.set_period = perf_set_period,
	.expected = perf_expected,
	.counted = perf_counted,
	.close = perf_close,
};
