// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of running fplesses beside the floor, in the same windows: reads the counters of their
 * programs `sample`, and samples the same process at the same rate with the floor program.
 *
 * usage: bench_windows PID HZ WINDOWS WINDOW_MS FPLESS_PID...; prints TSV, a line for each window
 * and program: window, program (0, 1, ... of the fplesses; floor), samples, frames, ns by its own
 * clock, ns of all its runs by its own clock and by the kernel's (bpf_stats).
 *
 * Two programs on a CPU could warm caches for each other. The floor's timer starts anew in each
 * window, after a random part of the period, so that over all windows neither comes after the other
 * more often or closer. Programs of perf events do not nest: where two timers fire together the
 * kernel runs one of them and drops the other without a count. As many as are missing from the
 * floor's share of the window can be seen in its samples.
 *
 * The floor reads, for each sample, as many words as the first sampler found frames in the window
 * before, on average.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench_floor.skel.h"
#include "bpf/shared.h"
#include "tests/bench/walker/floor.h"

#define SAMPLERS_MAX 8u
#define CPUS_MAX     1024
#define MAPS_MAX     64u
#define FDS_MAX	     256

struct figures {
	uint64_t samples, frames, ns;
	uint64_t all_ns, run_ns; /* of all runs: own clock, the kernel's */
};

struct sampler {
	int prog_fd, counters_fd;
	uint32_t value_size; /* of its counters: other versions have more, or fewer, behind */
	struct figures last;
};

struct bench {
	struct sampler samplers[SAMPLERS_MAX];
	uint32_t nr_samplers;
	struct bench_floor_bpf *floor;
	struct figures floor_last;
	int floor_fds[CPUS_MAX];
	int nr_cpus;
	uint32_t pid;
	uint64_t period_ns;
	useconds_t window_us;
};

static uint64_t run_ns_of(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &size) ? 0 : info.run_time_ns;
}

/* The map `counters` of the program, or a negative errno: it is no sampler of ours. */
static int counters_of(int prog_fd, uint32_t *value_size)
{
	uint32_t ids[MAPS_MAX];
	struct bpf_prog_info info = { .nr_map_ids = MAPS_MAX, .map_ids = (uint64_t)(uintptr_t)ids };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size) || strcmp(info.name, "sample") != 0)
		return -ENOENT;
	for (uint32_t i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++) {
		struct bpf_map_info map = { 0 };
		AUTO_FD int fd = bpf_map_get_fd_by_id(ids[i]);

		size = sizeof(map);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &map, &size) &&
		    strcmp(map.name, "counters") == 0 &&
		    map.value_size >= offsetof(struct fpl_counters, snapshots)) {
			*value_size = (map.value_size + 7) & ~7u;
			return TAKE_FD(fd);
		}
	}
	return -ENOENT;
}

/* The id of the program behind a descriptor of the process; 0: none. */
static uint32_t prog_id_of(const char *pid, int fd)
{
	char line[128];
	uint32_t id = 0;

	snprintf(line, sizeof(line), "/proc/%s/fdinfo/%d", pid, fd);

	FILE *file = fopen(line, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "prog_id: %u", &id) == 1)
			break;
	}
	if (file)
		fclose(file);
	return id;
}

/* Finds the sampler among the descriptors of the fpless that is process @pid. */
static int add_sampler(struct bench *bench, const char *pid)
{
	for (int i = 3; i < FDS_MAX; i++) {
		uint32_t id = prog_id_of(pid, i);
		AUTO_FD int fd = id ? bpf_prog_get_fd_by_id(id) : -1;
		uint32_t value_size = 0;
		int counters_fd = fd < 0 ? -ENOENT : counters_of(fd, &value_size);

		if (counters_fd < 0)
			continue;
		bench->samplers[bench->nr_samplers++] = (struct sampler){
			.prog_fd = TAKE_FD(fd), .counters_fd = counters_fd, .value_size = value_size
		};
		return 0;
	}
	return -ENOENT;
}

/* The same of one that may still be starting. */
static int await_sampler(struct bench *bench, const char *pid)
{
	int code = add_sampler(bench, pid);

	for (int i = 0; i < 100 && code; i++) {
		usleep(100000);
		code = add_sampler(bench, pid);
	}
	return code;
}

static struct figures sampler_read(const struct sampler *sampler, int nr_cpus)
{
	AUTO_FREE char *values = calloc((size_t)nr_cpus, sampler->value_size);
	struct figures sum = { .run_ns = run_ns_of(sampler->prog_fd) };
	uint32_t zero = 0;

	if (!values || bpf_map_lookup_elem(sampler->counters_fd, &zero, values))
		return sum;
	for (int i = 0; i < nr_cpus; i++) {
		const struct fpl_counters *of =
			(const void *)(values + (size_t)i * sampler->value_size);

		sum.samples += of->fired - of->idle - of->filtered;
		sum.frames += of->frames;
		sum.ns += of->sample_ns;
		sum.all_ns += of->bpf_ns;
	}
	return sum;
}

static struct figures floor_read(const struct bench *bench)
{
	struct floor_counters values[CPUS_MAX];
	struct figures sum = { .run_ns = run_ns_of(
				       bpf_program__fd(bench->floor->progs.floor_process)) };
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(bench->floor->maps.floor_counters), &zero, values))
		return sum;
	for (int i = 0; i < bench->nr_cpus; i++) {
		sum.samples += values[i].samples;
		sum.frames += values[i].frames;
		sum.ns += values[i].ns;
	}
	sum.all_ns = sum.ns;
	return sum;
}

static void print(uint32_t window, const char *name, const struct figures *now,
		  const struct figures *last)
{
	printf("%u\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", window,
	       name, now->samples - last->samples, now->frames - last->frames, now->ns - last->ns,
	       now->all_ns - last->all_ns, now->run_ns - last->run_ns);
}

/* As many words as the sampler found frames in a sample, rounded. */
static void set_floor(struct bench *bench, const struct figures *now, const struct figures *last)
{
	uint64_t samples = now->samples - last->samples, frames = now->frames - last->frames;

	if (samples)
		bench->floor->bss->nr_words = (uint32_t)((frames + samples / 2) / samples);
}

static int floor_start(struct bench *bench)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = bench->period_ns,
					.disabled = 1 };
	int prog_fd = bpf_program__fd(bench->floor->progs.floor_process);

	for (int cpu = 0; cpu < bench->nr_cpus; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

		bench->floor_fds[cpu] = fd;
		if (fd < 0)
			continue; /* offline */
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) < 0)
			return -errno;
		usleep((useconds_t)((uint64_t)random() % bench->period_ns / 1000));
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

static void floor_stop(struct bench *bench)
{
	for (int cpu = 0; cpu < bench->nr_cpus; cpu++)
		cleanup_fd(&bench->floor_fds[cpu]);
}

/* One window; the first, 0, only determines the number of words that the floor reads. */
static int run_window(struct bench *bench, uint32_t window)
{
	struct figures now;
	int code = floor_start(bench);

	for (uint32_t i = 0; i < bench->nr_samplers; i++)
		bench->samplers[i].last = sampler_read(&bench->samplers[i], bench->nr_cpus);
	bench->floor_last = floor_read(bench);
	if (!code)
		usleep(bench->window_us);
	for (uint32_t i = 0; i < bench->nr_samplers; i++) {
		struct sampler *sampler = &bench->samplers[i];
		char name[16];

		now = sampler_read(sampler, bench->nr_cpus);
		snprintf(name, sizeof(name), "%u", i);
		if (window)
			print(window, name, &now, &sampler->last);
		if (i == 0)
			set_floor(bench, &now, &sampler->last);
	}
	now = floor_read(bench);
	if (window)
		print(window, "floor", &now, &bench->floor_last);
	floor_stop(bench);
	return code;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	int code = 0;

	if (argc < 6 || argc > 5 + (int)SAMPLERS_MAX) {
		fprintf(stderr, "usage: %s PID HZ WINDOWS WINDOW_MS FPLESS_PID...\n", argv[0]);
		return 1;
	}

	uint32_t nr_windows = (uint32_t)strtoul(argv[3], NULL, 10);

	bench.pid = (uint32_t)strtoul(argv[1], NULL, 10);
	bench.period_ns = 1000000000u / strtoul(argv[2], NULL, 10);
	bench.window_us = (useconds_t)(1000 * strtoul(argv[4], NULL, 10));
	bench.nr_cpus = libbpf_num_possible_cpus();
	srandom(bench.pid);
	for (int i = 5; i < argc && !code; i++)
		code = await_sampler(&bench, argv[i]);
	bench.floor = bench_floor_bpf__open_and_load();
	if (!bench.floor || code || bench.nr_cpus > CPUS_MAX) {
		fprintf(stderr, "%s: no sampler there, or no BPF here\n", argv[0]);
		return 1;
	}
	bench.floor->bss->target = bench.pid;

	AUTO_FD int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

	for (uint32_t window = 0; window <= nr_windows && !code; window++)
		code = run_window(&bench, window);
	if (code)
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-code));
	return code != 0;
}
