/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/samplers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fpless.skel.h"
#include "profile/preemption.h"
#include "profile/uprobe_multi.h"

/* The process has one, as it has one of libbpf's handlers. */
static struct preemption preemption;

static struct bpf_program *program_of(const struct fpless_bpf *skel, enum sampler sampler)
{
	switch (sampler) {
	case SAMPLER_PERF:
		return skel->progs.sample;
	case SAMPLER_TRACEPOINT:
		return skel->progs.sample_tracepoint;
	case SAMPLER_KPROBE:
		return skel->progs.sample_kprobe;
	case SAMPLER_UPROBE:
		return skel->progs.sample_uprobe;
	case SAMPLER_RSS:
		return skel->progs.sample_rss;
	case SAMPLER_ALLOC:
		return skel->progs.sample_alloc;
	case SAMPLER_SWITCH:
		return skel->progs.sample_switch;
	case SAMPLER_SWITCH_KPROBE:
		return skel->progs.sample_switch_kprobe;
	case SAMPLER_SWITCH_OUT:
		return skel->progs.sample_switch_out;
	case SAMPLER_WAKING:
		return skel->progs.sample_waking;
	default:
		return NULL;
	}
}

static bool has_uprobes(const struct source *sources, size_t nr)
{
	return sources_have(sources, nr, SAMPLER_UPROBE) ||
	       sources_have(sources, nr, SAMPLER_ALLOC);
}

/* Let the programs of uprobes be loaded for links to many places where the sources have such ones.
 */
static int choose_links(struct fpless_bpf *skel, const struct source *sources, size_t nr)
{
	struct bpf_program *const programs[] = { skel->progs.sample_uprobe,
						 skel->progs.sample_alloc, skel->progs.on_alloc,
						 skel->progs.on_free_memory };
	bool is_multi = false;
	int code = 0;

	for (size_t i = 0; i < nr; i++)
		is_multi |= sources[i].is_multi;
	for (size_t i = 0; is_multi && i < ARRAY_SIZE(programs); i++)
		code |= bpf_program__set_expected_attach_type(
			programs[i], (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	return code;
}

static bool has_switch(const struct source *sources, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (sampler_is_of_switches(sources[i].sampler))
			return true;
	return false;
}

static bool has_times(const struct source *sources, size_t nr)
{
	return has_switch(sources, nr) || sources_have(sources, nr, SAMPLER_WAKING);
}

int samplers_prepare(const struct source *sources, size_t nr, struct fpl_err *err)
{
	int code;

	if (!has_uprobes(sources, nr))
		return 0;
	code = preemption_find(&preemption, err);
	return code ? code : preemption_prepare(&preemption, err);
}

/* The programs that keep the books of threads. @has_kept: one that takes stacks where waits begin
 * does what on_switch() does. */
static int choose_times(struct fpless_bpf *skel, bool are_kept, bool has_kept)
{
	int code = bpf_map__set_autocreate(skel->maps.thread_times, are_kept);

	code |= bpf_map__set_autocreate(skel->maps.switched, are_kept && !has_kept);
	code |= bpf_program__set_autoload(skel->progs.on_switch, are_kept && !has_kept);
	code |= bpf_program__set_autoload(skel->progs.on_wakeup, are_kept);
	code |= bpf_program__set_autoload(skel->progs.on_thread, are_kept);
	code |= bpf_program__set_autoload(skel->progs.on_times_exec, are_kept);
	code |= bpf_program__set_autoload(skel->progs.each_thread, are_kept);
	return code;
}

/* Slots of a CPU (bpf/slot.h). No switch comes while a program runs, so programs of switches need
 * no claim, but an interrupt that wakes a thread up does come. */
static uint32_t nr_slots_of(const struct source *sources, size_t nr)
{
	if (has_uprobes(sources, nr))
		return preemption_nr_slots(&preemption);
	if (has_switch(sources, nr) && sources_have(sources, nr, SAMPLER_WAKING))
		return 3;
	return has_times(sources, nr) ? 2 : 1;
}

int samplers_choose(struct fpless_bpf *skel, const struct source *sources, size_t nr)
{
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();
	uint32_t nr_slots = nr_slots_of(sources, nr);
	bool has_record = false, has_told = false;
	bool has_heap = sources_have(sources, nr, SAMPLER_ALLOC);
	bool has_kept = sources_have(sources, nr, SAMPLER_SWITCH_OUT);
	int code = 0;

	/* a program is loaded only if the run needs it: verifying one takes 80 to 100 ms */
	for (unsigned int i = 0; i < SAMPLER_COUNT; i++) {
		struct bpf_program *program = program_of(skel, (enum sampler)i);

		if (program)
			code |= bpf_program__set_autoload(
				program, sources_have(sources, nr, (enum sampler)i));
	}
	code |= choose_links(skel, sources, nr);
	code |= bpf_program__set_autoload(skel->progs.on_alloc, has_heap);
	code |= bpf_program__set_autoload(skel->progs.on_free_memory, has_heap);
	code |= bpf_map__set_autocreate(skel->maps.alloc_calls, has_heap);
	code |= bpf_map__set_autocreate(skel->maps.live, has_heap);
	code |= bpf_map__set_autocreate(skel->maps.rss_sizes,
					sources_have(sources, nr, SAMPLER_RSS));
	code |= choose_times(skel, has_times(sources, nr), has_kept);
	for (size_t i = 0; i < nr; i++) {
		has_record |= sources[i].event != NULL;
		has_told |= sources[i].nr_tolds != 0;
	}
	skel->rodata->config.nr_slots = nr_slots;
	code |= bpf_map__set_autocreate(skel->maps.sources, has_record);
	code |= bpf_map__set_autocreate(skel->maps.tolds, has_told);
	skel->rodata->config.flags |= has_told ? FPL_CONFIG_TOLD : 0;
	code |= bpf_map__set_max_entries(skel->maps.counters, nr_slots + (has_kept ? 2 : 1));
	code |= bpf_map__set_max_entries(skel->maps.scratch, nr_slots * nr_cpus);
	code |= bpf_map__set_max_entries(skel->maps.snapshots, 2 * nr_slots * nr_cpus);
	return code;
}

bool samplers_has(const struct fpless_bpf *skel, const struct bpf_program *program)
{
	for (unsigned int i = 0; i < SAMPLER_COUNT; i++)
		if (program_of(skel, (enum sampler)i) == program)
			return true;
	/* an iterator is run, not attached */
	return program == skel->progs.on_alloc || program == skel->progs.on_free_memory ||
	       program == skel->progs.each_thread;
}

int samplers_fd(const struct fpless_bpf *skel, enum sampler sampler)
{
	return bpf_program__fd(program_of(skel, sampler));
}

int samplers_alloc_fd(const struct fpless_bpf *skel)
{
	return bpf_program__fd(skel->progs.on_alloc);
}

int samplers_free_fd(const struct fpless_bpf *skel)
{
	return bpf_program__fd(skel->progs.on_free_memory);
}

static void add(const struct fpl_counters *one, struct fpl_counters *all)
{
	all->fired += one->fired;
	all->idle += one->idle;
	all->filtered += one->filtered;
	all->bpf_ns += one->bpf_ns;
	all->sample_ns += one->sample_ns;
	all->frames += one->frames;
	all->snapshots += one->snapshots;
	all->uretprobes += one->uretprobes;
	all->life_lost += one->life_lost;
	all->events_lost += one->events_lost;
	all->deep_ns += one->deep_ns;
	all->deep_walked += one->deep_walked;
	all->deep_refused += one->deep_refused;
	all->deep_cut += one->deep_cut;
	all->texts_unread += one->texts_unread;
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		all->lost[i] += one->lost[i];
	for (size_t i = 0; i < FPL_FULL_COUNT; i++)
		all->full[i] += one->full[i];
}

/* Events with a record that fired: those that -c only counts are left out of what entered. */
static uint64_t nr_entered(const struct fpl_counters *one, const uint32_t *every)
{
	uint64_t nr = one->entered;

	for (size_t i = 0; i < FPL_SOURCES_MAX; i++)
		if (every[i] > 1)
			nr -= one->passed[i] - one->passed[i] / every[i];
	return nr;
}

/* Stacks that were kept are in no books, but for what they cost: what is sampled of them is counted
 * with the samples. */
static struct fpl_counters cost_of(const struct fpl_counters *kept)
{
	struct fpl_counters cost = *kept;

	cost.fired = cost.idle = cost.filtered = cost.entered = 0;
	memset(cost.lost, 0, sizeof(cost.lost));
	return cost;
}

int samplers_counters(const struct fpless_bpf *skel, const uint32_t every[static FPL_SOURCES_MAX],
		      struct fpl_counters *ret)
{
	uint32_t nr = bpf_map__max_entries(skel->maps.counters);
	uint32_t nr_slots = skel->rodata->config.nr_slots;
	int nr_cpus = libbpf_num_possible_cpus();
	AUTO_FREE struct fpl_counters *values =
		nr_cpus > 0 ? calloc((size_t)nr_cpus, sizeof(*values)) : NULL;

	if (!values)
		return -ENOMEM;
	*ret = (struct fpl_counters){ 0 };
	for (uint32_t slot = 0; slot < nr; slot++) {
		int code = bpf_map_lookup_elem(bpf_map__fd(skel->maps.counters), &slot, values);

		if (code)
			return code;
		for (int cpu = 0; cpu < nr_cpus; cpu++) {
			if (slot > nr_slots)
				values[cpu] = cost_of(&values[cpu]);
			add(&values[cpu], ret);
			/* behind the slots: those of probes that found none */
			ret->entered += slot < nr_slots ? nr_entered(&values[cpu], every)
							: values[cpu].fired;
		}
	}
	return 0;
}

uint64_t samplers_run_cnt(const struct fpless_bpf *skel)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < SAMPLER_COUNT; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = samplers_fd(skel, (enum sampler)i);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			nr += info.run_cnt;
	}
	return nr;
}
