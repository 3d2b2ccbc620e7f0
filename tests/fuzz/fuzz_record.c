/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ring record as hostile bytes. Judged: what is called whole lies in the record; naming raw
 * frames changes nothing else, and names one address alike in both walks; a stack that is taken in
 * comes out with the frames it went in with.
 */
#include <stdlib.h>
#include <string.h>

#include "proc/mapset.h"
#include "profile/collect.h"
#include "profile/record.h"
#include "profile/snapshot.h"
#include "profile/stack_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* A copy of its own, so that a read behind it is seen. */
static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);

	require(copy != NULL);
	memcpy(copy, bytes, size);
	return copy;
}

static struct mapset *make_mappings(void)
{
	static const struct fpl_mapping maps[] = {
		{ .start = 0x1000, .end = 0x3000, .bias = 0x800, .object = 1 },
		{ .start = 0x3000, .end = 0x4000, .flags = FPL_MAPPING_ANON },
		{ .start = 1ull << 47, .end = 3ull << 47, .bias = 1ull << 47, .object = 2 },
	};
	struct mapset *set = mapset_create();

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		require(set && !mapset_add(&set, &maps[i]));
	return set;
}

static void check_frame(uint64_t before, uint64_t after)
{
	const uint64_t kept = 3ull << FPL_FRAME_ORIGIN_SHIFT | FPL_FRAME_EXACT;

	require((before & kept) == (after & kept));
	require(before == after || ((before & FPL_FRAME_RAW) && !(after & FPL_FRAME_RAW)));
}

static void check_naming(const struct fpl_sample *sample, size_t size)
{
	struct mapset *set = make_mappings();
	struct fpl_sample *named = copy_of(sample, size);
	const uint64_t *was = record_user(sample), *is = record_user(named);
	size_t nr_before = (size_t)sample->nr_user + sample->nr_kernel;
	const uint64_t *was_fp = was + nr_before, *is_fp = is + nr_before;

	record_resolve(named, set);
	for (size_t i = 0; i < sample->nr_user; i++)
		check_frame(was[i], is[i]);
	for (size_t i = sample->nr_user; i < nr_before; i++)
		require(was[i] == is[i]);
	for (size_t i = 0; i < sample->nr_fp; i++) {
		check_frame(was_fp[i], is_fp[i]);
		for (size_t k = 0; k < sample->nr_user && k < 64; k++)
			require(was[k] != was_fp[i] || is[k] == is_fp[i]);
	}
	free(named);
	mapset_put(set);
}

/* Takes the record in as the ring's reader does; @records of one stack make one stack. */
static void check_taking(const struct fpl_sample *sample, size_t size)
{
	struct collect collect;
	struct stack_store *store = NULL;
	struct profile_stack *stacks = NULL;
	size_t nr = 0, nr_frames = 0;

	require(!stack_store_create(1 << 24, &store));

	struct intake intake = { .store = store };
	struct intakes intakes = { .now = &intake };

	require(!collect_init(&collect, &(struct collect_config){
						.intakes = &intakes,
						.bytes_max = COLLECT_BYTES_MIN,
					}));
	collect_ring_record(&collect, (void *)(uintptr_t)sample, size);
	collect_ring_record(&collect, (void *)(uintptr_t)sample, size);
	require(!stack_store_take(store, &stacks, &nr));
	require(nr <= 1);
	if (nr) {
		nr_frames = (size_t)sample->nr_user + sample->nr_kernel + sample->nr_fp;
		require(stacks[0].count == 2 * (uint64_t)sample->count);
		require(stacks[0].nr_user == sample->nr_user && stacks[0].nr_fp == sample->nr_fp &&
			stacks[0].nr_kernel == sample->nr_kernel);
		require(!memcmp(stacks[0].frames, record_user(sample), 8 * nr_frames));
		free(stacks[0].frames);
	}
	free(stacks);
	stack_store_destroy(store);
	collect_fini(&collect);
}

/* Every byte of @bytes is there to be read. */
static void require_bytes(const uint8_t *bytes, size_t size)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + bytes[i]);
}

/* As the ring's reader takes snapshots in: first one that is whole, which the next may share with.
 */
static void check_snapshot(const struct fpl_sample *sample, size_t size)
{
	struct snapshots snapshots = { 0 };
	struct snapshot *taken;

	for (int i = 0; i < 2; i++) {
		int code = snapshots_take(&snapshots, sample, size, &taken);

		require(code == 0 || !record_holds_snapshot(sample, size) ||
			record_shared(sample)->size || sample->cpu);
		if (code)
			break;

		const struct fpl_sample *whole = taken->sample;

		require_bytes(record_stack(whole),
			      record_regs(whole)->stack_size - record_shared(whole)->size);
		require_bytes((const uint8_t *)record_islands(whole),
			      record_hole(whole)->nr_islands * sizeof(struct fpl_island));
		if (snapshot_shared(taken))
			require_bytes(snapshot_shared(taken), record_shared(whole)->size);
		snapshot_put(taken);
	}
	snapshots_fini(&snapshots);
}

static void check(const uint8_t *data, size_t size)
{
	struct fpl_sample *sample = copy_of(data, size);
	bool is_life;

	if (size >= sizeof(sample->header)) {
		is_life = sample->header.type >= FPL_RECORD_EXEC &&
			  sample->header.type <= FPL_RECORD_EXIT;
		/* records of lives change what is known of processes: not of this target */
		if (!is_life)
			check_taking(sample, size);
	}
	if (size >= sizeof(*sample) && record_holds_frames(sample, size))
		check_naming(sample, size);
	if (size >= sizeof(*sample) && record_holds_walk(sample, size)) {
		const uint8_t *end = (const uint8_t *)(record_regs(sample) + 1) +
				     record_regs(sample)->stack_size;

		require(record_holds_frames(sample, size));
		require((size_t)(end - (const uint8_t *)sample) <= size);
	}
	if (size >= sizeof(*sample))
		check_snapshot(sample, size);
	free(sample);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(data, size);
	/* and with a header that is true to the size, which few inputs have */
	if (size >= sizeof(struct fpl_record_header) && size <= UINT32_MAX) {
		struct fpl_record_header *record = copy_of(data, size);

		record->size = (uint32_t)size;
		check((const uint8_t *)record, size);
		free(record);
	}
	return 0;
}
