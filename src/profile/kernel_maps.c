/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the kernel side's hash maps, how full its maps are, and what they cost. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/chunk_maker.h"
#include "profile/kernel_side.h"
#include "profile/map_bytes.h"

#include "fpless.skel.h" /* knows no types of its own */

/* Entries that are read at a time: no bucket of a map has so many. */
#define BATCH 4096u

/* Told of @nr entries. */
/* Tell @fn of all entries of the hash map @map. @take: remove them. Errors: -ENOMEM; bpf(2). */
static int read_entries(const struct bpf_map *map, bool take, kernel_entries_fn fn, void *ctx)
{
	AUTO_FREE void *keys = calloc(BATCH, bpf_map__key_size(map));
	AUTO_FREE void *values = calloc(BATCH, bpf_map__value_size(map));
	uint32_t at, *from = NULL;
	int code = keys && values ? 0 : -ENOMEM;

	while (!code) {
		uint32_t nr = BATCH;

		code = (take ? bpf_map_lookup_and_delete_batch : bpf_map_lookup_batch)(
			bpf_map__fd(map), from, &at, keys, values, &nr, NULL);
		if (!code || code == -ENOENT)
			fn(keys, values, nr, ctx);
		from = &at;
	}
	return code == -ENOENT ? 0 : code; /* it was the last */
}

uint64_t kernel_side_maps_bytes(const struct kernel_side *kernel)
{
	const struct bpf_map *map;
	uint64_t bytes = chunk_maker_bytes(kernel->chunk_maker);

	bpf_object__for_each_map(map, kernel->skel->obj) bytes += map_bytes(bpf_map__fd(map));
	return bytes;
}

static void count_batch(const void *keys, const void *values, uint32_t nr, void *ctx)
{
	(void)keys;
	(void)values;
	*(uint32_t *)ctx += nr;
}

/* Entries of a hash map; 0 without memory for them. */
static uint32_t count_entries(const struct bpf_map *map)
{
	uint32_t nr = 0;

	return read_entries(map, false, count_batch, &nr) == -ENOMEM ? 0 : nr;
}

struct live_reader {
	void (*fn)(const struct fpl_live *entry, void *ctx);
	void *ctx;
};

static void tell_live(const void *keys, const void *values, uint32_t nr, void *ctx)
{
	const struct live_reader *reader = ctx;

	(void)keys;
	for (uint32_t i = 0; i < nr; i++)
		reader->fn((const struct fpl_live *)values + i, reader->ctx);
}

int kernel_side_live(const struct kernel_side *kernel,
		     void (*fn)(const struct fpl_live *entry, void *ctx), void *ctx)
{
	const struct bpf_map *map = kernel->skel->maps.live;
	struct live_reader reader = { .fn = fn, .ctx = ctx };

	return bpf_map__fd(map) < 0 ? 0 : read_entries(map, false, tell_live, &reader);
}

int kernel_side_take_locks(struct kernel_side *kernel, kernel_entries_fn fn, void *ctx,
			   struct fpl_lock *ret_beyond)
{
	*ret_beyond = kernel->skel->bss->locks_beyond;
	kernel->skel->bss->locks_beyond = (struct fpl_lock){ 0 };
	return read_entries(kernel->skel->maps.locks, true, fn, ctx);
}

int kernel_side_take_threads(struct kernel_side *kernel, kernel_entries_fn fn, void *ctx,
			     struct fpl_thread_sum *ret_beyond)
{
	*ret_beyond = kernel->skel->bss->thread_sums_beyond;
	kernel->skel->bss->thread_sums_beyond = (struct fpl_thread_sum){ 0 };
	return read_entries(kernel->skel->maps.thread_sums, true, fn, ctx);
}

static void keep_peak(uint32_t *peak, uint32_t nr)
{
	if (nr > *peak)
		*peak = nr;
}

void kernel_side_count(struct kernel_side *kernel)
{
	keep_peak(&kernel->nr_procs_peak, count_entries(kernel->skel->maps.procs));
	keep_peak(&kernel->nr_mapsets_peak, count_entries(kernel->skel->maps.mapsets));
	keep_peak(&kernel->nr_targets_peak, count_entries(kernel->skel->maps.targets));
}

/* Set the particular properties of one map. */
static void describe(const struct kernel_side *kernel, const struct bpf_map *map,
		     const struct fpl_counters *counters, struct profile_map *ret)
{
	const struct {
		const struct bpf_map *map;
		uint64_t entries, refused;
		const char *option;
	} known[] = {
		{ kernel->skel->maps.objects, 0, 0, NULL },
		{ kernel->skel->maps.mappings, 0, 0, "--max-mappings" },
		{ kernel->skel->maps.procs, kernel->nr_procs_peak, counters->full[FPL_FULL_PROCS],
		  "--max-processes" },
		{ kernel->skel->maps.mapsets, kernel->nr_mapsets_peak,
		  counters->full[FPL_FULL_MAPSETS], "--max-processes" },
		{ kernel->skel->maps.targets, kernel->nr_targets_peak,
		  counters->full[FPL_FULL_TARGETS], "--max-processes" },
		{ kernel->skel->maps.live, 0, counters->full[FPL_FULL_LIVE], "--max-live" },
		{ kernel->skel->maps.stacks, 0, 0, "--stack-memory" },
		{ kernel->skel->maps.ring, kernel->ring_peak_bytes,
		  counters->lost[FPL_LOST_RING_FULL] + counters->life_lost + counters->events_lost,
		  "--ring-memory" },
		{ kernel->skel->maps.chunks, 0, 0, "--table-memory" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].map != map)
			continue;
		ret->grows = true;
		ret->entries = known[i].entries;
		ret->refused = known[i].refused;
		ret->option = known[i].option;
	}
	if (map == kernel->skel->maps.live)
		ret->entries = count_entries(map);
	if (!ret->grows && bpf_map__type(map) == BPF_MAP_TYPE_HASH) {
		ret->grows = true;
		ret->entries = count_entries(map);
	} else if (!ret->grows) {
		ret->entries = ret->max;
	}
}

size_t kernel_side_maps(const struct kernel_side *kernel, const struct fpl_counters *counters,
			struct profile_map *ret, size_t max)
{
	const struct bpf_map *map;
	size_t nr = 0;

	bpf_object__for_each_map(map, kernel->skel->obj)
	{
		if (bpf_map__is_internal(map) || bpf_map__fd(map) < 0 || nr == max)
			continue;

		struct profile_map *level = &ret[nr++];

		*level = (struct profile_map){
			.max = bpf_map__max_entries(map),
			.bytes = map_bytes(bpf_map__fd(map)),
		};
		snprintf(level->name, sizeof(level->name), "%s", bpf_map__name(map));
		describe(kernel, map, counters, level);
		if (map == kernel->skel->maps.stacks)
			level->max *= FPL_STACKS_IN_GROUP;
		if (map == kernel->skel->maps.chunks)
			level->bytes += chunk_maker_bytes(kernel->chunk_maker);
	}
	return nr;
}
