/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/kernel_room.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "proc/cgroup_memory.h"

#define MIB (UINT64_C(1) << 20)
/*
 * Beside its maps and tables a run over one small process was measured to need 7 MiB: programs,
 * their types, the heap, workers. One over all processes, 24 MiB and more.
 */
#define OWN_BYTES     (6 * MIB)
#define OWN_ALL_BYTES (24 * MIB)
/* The table of one small program: a chunk. */
#define FIRST_TABLE_BYTES (2 * MIB)
/* Overhead of a hash map's entry beside key and value. */
#define HASH_ENTRY_BYTES 64u

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static uint64_t map_bytes(const struct bpf_map *map)
{
	uint64_t nr = bpf_map__max_entries(map);
	uint64_t value = round_up(bpf_map__value_size(map), 8);

	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_RINGBUF:
		return nr;
	case BPF_MAP_TYPE_HASH:
		return nr * (round_up(bpf_map__key_size(map), 8) + value + HASH_ENTRY_BYTES);
	case BPF_MAP_TYPE_ARRAY:
		return nr * value;
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return nr * value * (uint64_t)libbpf_num_possible_cpus();
	default: /* of maps: its chunks come with the tables */
		return nr * 8;
	}
}

uint64_t kernel_room_maps_bytes(const struct bpf_object *object)
{
	const struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__autocreate(map))
			bytes += map_bytes(map);
	}
	return bytes;
}

static uint64_t to_mib(uint64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

int kernel_room_check(const struct bpf_object *object, const struct engine_options *options,
		      struct fpl_err *err)
{
	uint64_t limit = cgroup_memory_limit("");
	uint64_t maps = kernel_room_maps_bytes(object);
	uint64_t least = maps + FIRST_TABLE_BYTES + OWN_BYTES;
	uint64_t without_tables =
		maps + (options->target == ENGINE_TARGET_ALL ? OWN_ALL_BYTES : OWN_BYTES);

	if (limit == CGROUP_NO_LIMIT)
		return 0;
	if (least > limit)
		return fpl_fail(err, -ENOMEM,
				"needs %" PRIu64 " MiB, the cgroup allows %" PRIu64
				": lower --stack-memory, --ring-memory, --max-mappings or "
				"--max-processes, whose maps take %" PRIu64 ", or give it more",
				to_mib(least), limit / MIB, to_mib(maps));
	if (without_tables + FIRST_TABLE_BYTES > limit)
		fpl_log(FPL_LOG_WARN,
			"may need %" PRIu64 " MiB, the cgroup allows %" PRIu64
			", and beyond that the kernel kills it: profile one process (-p), or give "
			"it more",
			to_mib(without_tables + FIRST_TABLE_BYTES), limit / MIB);
	else if (without_tables + options->table_memory > limit)
		fpl_log(FPL_LOG_WARN,
			"may need %" PRIu64 " MiB, the cgroup allows %" PRIu64
			", and beyond that the kernel kills it: --table-memory %" PRIu64 "M fits",
			to_mib(without_tables + options->table_memory), limit / MIB,
			(limit - without_tables) / MIB);
	return 0;
}
