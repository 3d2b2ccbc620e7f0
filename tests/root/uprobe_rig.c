// SPDX-License-Identifier: Apache-2.0
#include "tests/root/uprobe_rig.h"

#include "tests/unit/cmocka_all.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "fpless.skel.h"

/* The place of @at in the file of this program. */
static uint64_t file_offset(uint64_t at)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, off, ret = 0;
	char line[512];

	assert_non_null(maps);
	while (!ret && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 && at >= start &&
		    at < end)
			ret = at - start + off;
	fclose(maps);
	assert_int_not_equal(ret, 0);
	return ret;
}

int uprobe_rig_open(const void *function, bool at_return)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	uint32_t type = 0;

	if (!file)
		return -1;
	assert_int_equal(fscanf(file, "%u", &type), 1);
	fclose(file);

	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = at_return, /* format/retprobe: config:0 */
		.sample_period = 1,
		.config1 = (uint64_t)(uintptr_t) "/proc/self/exe",
		.config2 = file_offset((uint64_t)(uintptr_t)function),
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

int uprobe_rig_attach(int program, int event, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int link = bpf_link_create(program, event, BPF_PERF_EVENT, &opts);

	assert_true(link >= 0);
	return link;
}

struct uprobe_sums uprobe_rig_stacks(const struct fpless_bpf *skel)
{
	struct uprobe_sums sums = { 0 };
	int map = bpf_map__fd(skel->maps.stacks);

	for (uint32_t at = 0; at < bpf_map__max_entries(skel->maps.stacks); at++) {
		struct fpl_stack_group group;

		assert_int_equal(bpf_map_lookup_elem(map, &at, &group), 0);
		for (size_t i = 0; i < FPL_STACKS_IN_GROUP; i++) {
			if (!group.stacks[i].id)
				continue;
			sums.count += group.stacks[i].count;
			sums.weight += group.stacks[i].weight;
			sums.objects += group.stacks[i].objects;
		}
	}
	return sums;
}

int uprobe_rig_add_record(void *ctx, void *data, size_t size)
{
	const struct fpl_sample *sample = data;
	struct uprobe_sums *sums = ctx;

	(void)size;
	if (sample->header.type != FPL_RECORD_STACK && sample->header.type != FPL_RECORD_SNAPSHOT)
		return 0;
	sums->count += sample->count;
	sums->weight += sample->count * sample->weight;
	sums->objects += sample->count * sample->objects;
	return 0;
}
