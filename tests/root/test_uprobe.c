// SPDX-License-Identifier: Apache-2.0
/*
 * usage: test_uprobe [CALLS]
 *
 * The program of uprobes in both ways of bpf/slot.h: threads on all CPUs call one probed function
 * while a perf event interrupts them, and each call is counted once.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "fpless.skel.h"
#include "profile/preemption.h"
#include "profile/samplers.h"
#include "tests/root/uprobe_rig.h"
#include "tests/support/skip_test.h"

#define NR_THREADS 8u

static uint64_t nr_calls = 20000; /* of each thread */

/* The function under the probe. */
static __attribute__((__noinline__, __noclone__)) void probed(uint64_t number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
}

static void *call_often(void *arg)
{
	for (uint64_t i = 0; i < nr_calls; i++)
		probed(i);
	return arg;
}

static int open_clock(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 200000,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct fpless_bpf *load_for(const struct source *sources, size_t nr, uint32_t nr_slots)
{
	struct fpless_bpf *skel = fpless_bpf__open();

	assert_non_null(skel);
	skel->rodata->config = (struct fpl_config){
		.flags = FPL_CONFIG_ALL | FPL_CONFIG_USER,
		.max_depth = FPL_DEPTH_MAX,
		.snapshot_bytes = 4096,
		.wakeup_bytes = 1 << 20,
		.nr_stack_groups = 8192,
		.nr_sources = 2,
	};
	assert_int_equal(samplers_choose(skel, sources, nr), 0);
	assert_int_equal(skel->rodata->config.nr_slots, nr_slots);
	if (fpless_bpf__load(skel))
		fail_msg("%u slots: the kernel refuses the programs", nr_slots);
	return skel;
}

static void call_in_threads(void)
{
	pthread_t threads[NR_THREADS];

	for (size_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
}

#define FILES_MAX 130

struct rig {
	struct fpless_bpf *skel;
	struct ring_buffer *ring;
	struct uprobe_sums records;
	uint32_t nr_slots;
	int files[FILES_MAX], nr_files; /* events and links */
};

static const struct fpl_source all_of_them = { .every = 1 };

static void keep(struct rig *rig, int fd)
{
	assert_true(fd >= 0 && rig->nr_files < FILES_MAX);
	rig->files[rig->nr_files++] = fd;
}

static void begin(struct rig *rig, uint32_t nr_slots)
{
	const struct source sources[] = {
		{ .sampler = SAMPLER_PERF },
		{ .sampler = SAMPLER_UPROBE, .event = &all_of_them },
	};
	uint32_t number = 1;
	int uprobe = uprobe_rig_open((const void *)(uintptr_t)probed, false);

	*rig = (struct rig){ .nr_slots = nr_slots };
	rig->skel = load_for(sources, 2, nr_slots);
	rig->ring = ring_buffer__new(bpf_map__fd(rig->skel->maps.ring), uprobe_rig_add_record,
				     &rig->records, NULL);
	assert_non_null(rig->ring);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.sources), &number,
					     &all_of_them, BPF_ANY),
			 0);
	keep(rig, uprobe);
	keep(rig, uprobe_rig_attach(samplers_fd(rig->skel, SAMPLER_UPROBE), uprobe, number));
	for (int cpu = 0; cpu < libbpf_num_possible_cpus() && cpu < 60; cpu++) {
		int event = open_clock(cpu);

		if (event < 0)
			continue; /* the CPU is not online */
		keep(rig, event);
		keep(rig, uprobe_rig_attach(samplers_fd(rig->skel, SAMPLER_PERF), event, 0));
	}
	rig->skel->bss->gate = 1;
}

static void stop(struct rig *rig)
{
	rig->skel->bss->gate = 0;
	while (rig->nr_files)
		close(rig->files[--rig->nr_files]);
	usleep(100000); /* longer than a program runs */
	while (ring_buffer__consume(rig->ring) > 0)
		;
}

/* Sum up what the slots of uprobes have counted. */
static void count_uprobe(const struct rig *rig, uint64_t *ret_fired, uint64_t *ret_lost)
{
	struct fpl_counters *of_cpus = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*of_cpus));

	assert_non_null(of_cpus);
	*ret_fired = *ret_lost = 0;
	for (uint32_t slot = 1; slot <= rig->nr_slots; slot++) {
		assert_int_equal(
			bpf_map_lookup_elem(bpf_map__fd(rig->skel->maps.counters), &slot, of_cpus),
			0);
		for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
			*ret_fired += of_cpus[cpu].fired;
			*ret_lost += of_cpus[cpu].lost[FPL_LOST_SCRATCH];
		}
	}
	free(of_cpus);
}

static void run(uint32_t nr_slots)
{
	struct rig rig;
	struct fpl_counters count;
	uint64_t fired, without_slot, lost = 0;

	begin(&rig, nr_slots);
	call_in_threads();
	stop(&rig);
	count_uprobe(&rig, &fired, &without_slot);
	assert_int_equal(samplers_counters(rig.skel, (uint32_t[FPL_SOURCES_MAX]){ 0 }, &count), 0);
	printf("%u slots: %llu runs by the uprobe, %llu without a slot; %llu by the clock\n",
	       nr_slots, (unsigned long long)fired, (unsigned long long)without_slot,
	       (unsigned long long)(count.fired - fired));
	assert_int_equal(fired, NR_THREADS * nr_calls);
	assert_true(count.fired > fired);
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		lost += count.lost[i];
	assert_int_equal(count.fired, uprobe_rig_stacks(rig.skel).count + rig.records.count +
					      count.idle + count.filtered + lost);
	if (nr_slots == 2)
		assert_int_equal(without_slot, 0);
	ring_buffer__free(rig.ring);
	fpless_bpf__destroy(rig.skel);
}

static void slots_that_are_claimed_count_each_call_once(void **state)
{
	struct preemption preemption = { 0 };

	(void)state;
	if (!preemption_find(&preemption, NULL) && preemption.off_id)
		skip_test("this kernel must not run programs so");
	run(3);
}

static void a_slot_without_preemption_counts_each_call_once(void **state)
{
	static const struct source uprobe = { .sampler = SAMPLER_UPROBE };
	struct preemption preemption = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	if (samplers_prepare(&uprobe, 1, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(preemption_find(&preemption, &err), 0);
	if (!preemption.off_id)
		skip_test("programs of this kernel claim slots");
	run(2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_that_are_claimed_count_each_call_once),
		cmocka_unit_test(a_slot_without_preemption_counts_each_call_once),
	};

	if (argc > 1)
		nr_calls = strtoull(argv[1], NULL, 10);
	if (geteuid()) {
		fprintf(stderr, "not root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
