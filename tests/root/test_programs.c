// SPDX-License-Identifier: Apache-2.0
/*
 * usage: test_programs [CONFIGURATION...]
 *
 * The programs load on this kernel in every configuration, and stay far from the verifier's limit.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "bpf/walk_state.h"
#include "fpless.skel.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The verifier gives up at 1,000,000; an older kernel may need a few times what this one does. */
#define VERIFIED_MAX 200000u

/* $FPLESS_VERIFIED_MAX: a bound of its own for a kernel that needs more. */
static uint64_t verified_max(void)
{
	const char *text = getenv("FPLESS_VERIFIED_MAX");

	return text ? strtoull(text, NULL, 10) : VERIFIED_MAX;
}

/* A run of waits with their wakers loads these. */
static const char *const waits_only[] = { "on_switch",	       "on_wakeup",
					  "sample_switch",     "sample_switch_kprobe",
					  "sample_switch_out", "sample_waking",
					  "each_thread",       NULL };

static const struct {
	const char *what;
	uint32_t flags, unwind, snapshot_bytes, record_every;
	uint32_t pid_ns;
} configs[] = {
	{ "everything", 15 | FPL_CONFIG_REGIONS, FPL_UNWIND_AUTO, 32768, 1, 0 },
	{ "both walks", 29 | FPL_CONFIG_REGIONS, FPL_UNWIND_AUTO, 32768, 1, 0 },
	/* and both walks, in a container */
	{ "filters and labels", 4092 | FPL_CONFIG_REGIONS, FPL_UNWIND_AUTO, 32768, 1, 1 },
	{ "waits at locks", 12 | FPL_CONFIG_WAKERS | FPL_CONFIG_PAIRS | FPL_CONFIG_LOCKS,
	  FPL_UNWIND_AUTO, 32768, 0, 1 },
	{ "waits and their wakers", 12 | FPL_CONFIG_WAKERS | FPL_CONFIG_PAIRS, FPL_UNWIND_AUTO,
	  32768, 0, 0 },
	{ "chains of wakers", 12 | FPL_CONFIG_WAKERS, FPL_UNWIND_AUTO, 32768, 0, 0 },
	{ "system calls of waits", 12 | FPL_CONFIG_CALLS, FPL_UNWIND_AUTO, 32768, 0, 0 },
	{ "all processes, user and kernel", 13, FPL_UNWIND_AUTO, 32768, 0, 0 },
	{ "targets only", 12, FPL_UNWIND_AUTO, 32768, 0, 0 },
	{ "user only", 4, FPL_UNWIND_AUTO, 32768, 0, 0 },
	{ "kernel only", 8, FPL_UNWIND_AUTO, 32768, 0, 0 },
	{ "cfi only, no snapshots", 13, FPL_UNWIND_CFI, 0, 0, 0 },
	{ "frame pointers", 13, FPL_UNWIND_FP, 0, 0, 0 },
	{ "largest snapshots", 13 | FPL_CONFIG_REGIONS, FPL_UNWIND_AUTO, FPL_SNAPSHOT_MAX, 1, 0 },
};

/* Names of configurations to try; all of them if empty. */
static char **wanted;

static int is_wanted(const char *what)
{
	for (char **name = wanted; name && *name; name++) {
		if (strcmp(*name, what) == 0)
			return 1;
	}
	return !wanted || !*wanted;
}

#define REASON_MAX 1200u /* of the verifier's log: the instruction it refuses, and why */

/* The end of what libbpf said last of a refused program. */
static char reason[REASON_MAX + 1];

__attribute__((__format__(__printf__, 2, 0))) static int
keep_reason(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	int len;

	if (level != LIBBPF_WARN || !strstr(format, "LOG") ||
	    (len = vasprintf(&text, format, args)) < 0)
		return 0;
	snprintf(reason, sizeof(reason), "%s",
		 (size_t)len > REASON_MAX ? text + (size_t)len - REASON_MAX : text);
	free(text);
	return len;
}

static struct fpless_bpf *open_with(uint32_t flags, uint32_t unwind, uint32_t snapshot_bytes,
				    uint32_t record_every, uint32_t pid_ns)
{
	struct fpless_bpf *skel = fpless_bpf__open();

	if (!skel)
		return NULL;
	skel->rodata->config = (struct fpl_config){
		.flags = flags,
		.unwind = unwind,
		.max_depth = FPL_DEPTH_MAX,
		.snapshot_bytes = snapshot_bytes,
		.record_every = record_every,
		.wakeup_bytes = 1 << 20,
		.nr_stack_groups = 8192,
		.pid_ns = pid_ns,
		.nr_slots = 3, /* uprobes claim theirs */
		.block_states = 0xfu | FPL_STATE_RUNNABLE,
		.nr_links = flags & FPL_CONFIG_WAKERS ? FPL_LINKS_MAX : 0,
	};
	return skel;
}

static int is_among(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

static void load_only(struct bpf_object *obj, const char *const *names)
{
	struct bpf_program *program;
	unsigned left = 0;

	for (const char *const *name = names; *name; name++)
		left++;
	bpf_object__for_each_program(program, obj)
	{
		int wanted_here = is_among(bpf_program__name(program), names);

		bpf_program__set_autoload(program, wanted_here);
		left -= (unsigned)wanted_here;
	}
	assert_int_equal(left, 0);
}

/* A switch is sampled at a tracepoint, or where the kernel has none at a function of it. */
static void leave_unused_out(struct fpless_bpf *skel)
{
	bool has_tracepoint = libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0;

	bpf_program__set_autoload(has_tracepoint ? skel->progs.sample_switch_kprobe
						 : skel->progs.sample_switch,
				  false);
}

static void programs_load_in_every_configuration(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		if (!is_wanted(configs[i].what))
			continue;

		struct fpless_bpf *skel =
			open_with(configs[i].flags, configs[i].unwind, configs[i].snapshot_bytes,
				  configs[i].record_every, configs[i].pid_ns);

		assert_non_null(skel);
		assert_int_equal(skel->rodata->shared_version, FPL_SHARED_VERSION);
		if (configs[i].flags & FPL_CONFIG_PAIRS)
			load_only(skel->obj, waits_only);
		leave_unused_out(skel);
		if (fpless_bpf__load(skel))
			fail_msg("%s: refused: %s", configs[i].what, reason);

		struct bpf_program *program;

		bpf_object__for_each_program(program, skel->obj)
		{
			struct bpf_prog_info info = { 0 };
			uint32_t size = sizeof(info);

			if (!bpf_program__autoload(program))
				continue;
			assert_int_equal(
				bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
			printf("%s: %s: %u instructions verified, %u translated, %u bytes\n",
			       configs[i].what, bpf_program__name(program), info.verified_insns,
			       info.xlated_prog_len / 8, info.jited_prog_len);
			assert_in_range(info.verified_insns, 1, verified_max());
		}
		fpless_bpf__destroy(skel);
	}
}

/* Maps whose size the loader does not set are small: a run's fixed maps are at most 16 MiB. */
static void maps_hold_what_the_contract_says(void **state)
{
	struct fpless_bpf *skel = open_with(13, FPL_UNWIND_AUTO, 0, 0, 0);
	const struct {
		const char *name;
		struct bpf_map *map;
		uint32_t value_size;
	} maps[] = {
		{ "objects", skel->maps.objects, sizeof(struct fpl_object) },
		{ "mappings", skel->maps.mappings, sizeof(struct fpl_mapping) },
		{ "procs", skel->maps.procs, sizeof(struct fpl_proc) },
		{ "mapsets", skel->maps.mapsets, sizeof(struct fpl_mapset) },
		{ "targets", skel->maps.targets, sizeof(struct fpl_target) },
		{ "threads", skel->maps.threads, sizeof(struct fpl_target) },
		{ "comms", skel->maps.comms, sizeof(uint32_t) },
		{ "stacks", skel->maps.stacks, sizeof(struct fpl_stack_group) },
		{ "counters", skel->maps.counters, sizeof(struct fpl_counters) },
	};
	uint64_t bytes = bpf_map__max_entries(skel->maps.ring);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (bpf_map__value_size(maps[i].map) != maps[i].value_size)
			fail_msg("%s: value of %u bytes", maps[i].name,
				 bpf_map__value_size(maps[i].map));
		/* A hash element costs about 72 bytes more than its value, with key and bucket. */
		bytes += (uint64_t)bpf_map__max_entries(maps[i].map) *
			 (maps[i].value_size +
			  (bpf_map__type(maps[i].map) == BPF_MAP_TYPE_HASH ? 72u : 0u));
	}
	assert_in_range(bytes, 1, 16 << 20);
	fpless_bpf__destroy(skel);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_load_in_every_configuration),
		cmocka_unit_test(maps_hold_what_the_contract_says),
	};
	int probe = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 4, 1, NULL);

	if (probe < 0) {
		printf("SKIP: no permission to create BPF maps: %s\n", strerror(errno));
		return 77;
	}
	wanted = argc ? argv + 1 : NULL;
	libbpf_set_print(keep_reason);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
