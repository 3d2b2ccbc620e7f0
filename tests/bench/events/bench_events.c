/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_events none|nothing|count_stack FRAMES ROUNDS CALLS
 *
 * Makes ROUNDS times CALLS system calls (getppid) FRAMES frames deep, with the program of that name
 * on syscalls:sys_enter_getppid, and writes the ns of one call of each round, a line each, when it
 * reads a line from stdin, which it waits for before each round.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench_event_floor.skel.h"
#include "proc/tracefs.h"

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

__attribute__((__noinline__)) static long descend(unsigned depth, unsigned long calls)
{
	long sum = 0;

	if (depth > 1) {
		sum = descend(depth - 1, calls);
		__asm__ volatile("" : "+r"(sum));
		return sum;
	}
	for (unsigned long i = 0; i < calls; i++)
		sum += syscall(SYS_getppid);
	return sum;
}

static int open_event(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT };
	struct fpl_err err;
	uint64_t id;
	int tracefs;

	if (tracefs_open(&tracefs, &err) ||
	    tracefs_event_id(tracefs, "syscalls", "sys_enter_getppid", &id, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	attr.config = id;
	attr.sample_period = 1;
	return (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach(const char *name)
{
	struct bench_event_floor_bpf *skel = bench_event_floor_bpf__open_and_load();
	struct bpf_program *program;
	int event;

	if (!skel)
		return -errno;
	skel->bss->target = (__u32)getpid();
	program = bpf_object__find_program_by_name(skel->obj, name);
	event = open_event();
	if (!program || event < 0)
		return -EINVAL;
	/* the process's end undoes it */
	return bpf_link_create(bpf_program__fd(program), event, BPF_PERF_EVENT, NULL);
}

int main(int argc, char **argv)
{
	char line[16];

	if (argc != 5)
		return 2;

	unsigned frames = (unsigned)strtoul(argv[2], NULL, 10);
	unsigned long rounds = strtoul(argv[3], NULL, 10), calls = strtoul(argv[4], NULL, 10);

	if (strcmp(argv[1], "none") != 0 && attach(argv[1]) < 0) {
		fprintf(stderr, "%s: not attached\n", argv[1]);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	for (unsigned long i = 0; i < rounds && fgets(line, sizeof(line), stdin); i++) {
		double start = now_ns();

		descend(frames, calls);
		printf("%.1f\n", (now_ns() - start) / (double)calls);
	}
	return 0;
}
