/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots that lack bytes which an earlier one of their CPU has. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/record.h"
#include "profile/snapshot.h"

#define STACK	   0x7ffd0000ull
#define STACK_SIZE 256u

struct record {
	struct fpl_sample sample;
	struct fpl_regs regs;
	struct fpl_hole hole;
	struct fpl_shared shared;
	uint8_t stack[STACK_SIZE];
};

static struct record make(uint32_t cpu, uint32_t id, uint64_t addr, struct fpl_shared shared)
{
	struct record record = {
		.sample = { .header = { .type = FPL_RECORD_SNAPSHOT,
					.size = (uint32_t)sizeof(record) - shared.size },
			    .id = id,
			    .cpu = cpu },
		.regs = { .stack_addr = addr, .stack_size = STACK_SIZE },
		.shared = shared,
	};

	for (uint32_t i = 0; i < STACK_SIZE; i++)
		record.stack[i] = (uint8_t)(id + i);
	return record;
}

static int take(struct snapshots *snapshots, const struct record *record, struct snapshot **ret)
{
	return snapshots_take(snapshots, record, record->sample.header.size, ret);
}

static void shared_bytes_are_those_at_the_same_addresses(void **state)
{
	struct snapshots snapshots = { 0 };
	struct snapshot *whole, *part, *other, *later;
	struct record record = make(3, 7, STACK, (struct fpl_shared){ 0 });

	(void)state;
	assert_int_equal(take(&snapshots, &record, &whole), 0);
	assert_null(snapshot_shared(whole));
	/* of another CPU and of another slot, which are not compared with */
	record = make(0, 8, STACK, (struct fpl_shared){ 0 });
	assert_int_equal(take(&snapshots, &record, &other), 0);
	snapshot_put(other);
	record = make(3, 11, STACK, (struct fpl_shared){ .slot = 1 });
	assert_int_equal(take(&snapshots, &record, &other), 0);
	/* 16 bytes further down: its bytes from 80 on are those from 64 on there */
	record = make(3, 9, STACK - 16, (struct fpl_shared){ .id = 7, .off = 80, .size = 128 });
	assert_int_equal(take(&snapshots, &record, &part), 0);
	assert_ptr_equal(part->last, whole);
	assert_ptr_equal(snapshot_shared(part), record_stack(whole->sample) + 64);
	/* another takes its place; who shares with the first still has its bytes */
	snapshot_put(whole);
	record = make(3, 10, STACK, (struct fpl_shared){ 0 });
	assert_int_equal(take(&snapshots, &record, &later), 0);
	assert_int_equal(snapshot_shared(part)[0], 7 + 64);
	assert_int_equal(snapshot_shared(part)[127], 7 + 64 + 127);
	snapshots_fini(&snapshots);
	snapshot_put(later);
	snapshot_put(other);
	snapshot_put(part);
}

static void invalid_share_is_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t cpu;
		uint64_t addr;
		struct fpl_shared shared;
		uint32_t size_off; /* added to the size of the record */
		int code;
	} cases[] = {
		{ "all of it", 3, STACK, { 7, 0, 256, 0 }, 0, 0 },
		{ "of another one", 3, STACK, { 8, 0, 256, 0 }, 0, -ENOMEM },
		{ "of a CPU without any", 2, STACK, { 7, 0, 256, 0 }, 0, -ENOMEM },
		{ "of a CPU that is not seen yet", 40, STACK, { 7, 0, 256, 0 }, 0, -ENOMEM },
		{ "below its first byte", 3, STACK - 8, { 7, 0, 256, 0 }, 0, -ENOMEM },
		{ "up to its first byte", 3, STACK - 8, { 7, 8, 248, 0 }, 0, 0 },
		{ "beyond its last byte", 3, STACK + 8, { 7, 0, 256, 0 }, 0, -ENOMEM },
		{ "of another stack", 3, ~0ull - 3, { 7, 0, 256, 0 }, 0, -ENOMEM },
		{ "more than there is of stack", 3, STACK, { 7, 8, 256, 0 }, 0, -EINVAL },
		{ "behind the stack", 3, STACK, { 7, 264, 8, 0 }, 0, -EINVAL },
		{ "all bytes but one", 3, STACK, { 7, 0, 128, 0 }, -1u, -EINVAL },
		{ "of a slot without any", 3, STACK, { 7, 0, 256, 1 }, 0, -ENOMEM },
		{ "a slot that no CPU has", 3, STACK, { 0, 0, 0, FPL_SLOTS_MAX }, 0, -EINVAL },
		{ "a CPU nobody has", 1u << 30, STACK, { 0, 0, 0, 0 }, 0, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshots snapshots = { 0 };
		struct snapshot *first, *second = NULL;
		struct record record = make(3, 7, STACK, (struct fpl_shared){ 0 });

		assert_int_equal(take(&snapshots, &record, &first), 0);
		record = make(cases[i].cpu, 9, cases[i].addr, cases[i].shared);
		record.sample.header.size = (uint32_t)sizeof(record) - cases[i].shared.size;
		record.sample.header.size += cases[i].size_off;
		if (take(&snapshots, &record, &second) != cases[i].code)
			fail_msg("%s", cases[i].what);
		snapshots_fini(&snapshots);
		snapshot_put(first);
		snapshot_put(second);
	}
}

/* Bytes at the same place of two copies are those of the same addresses only if the holes are the
 * same, too. */
static void copies_with_different_holes_share_nothing(void **state)
{
	static const struct {
		const char *what;
		struct fpl_hole first, second;
		int code;
	} cases[] = {
		{ "the same", { 64, 4096, 0, 0 }, { 80, 4096, 0, 0 }, 0 },
		{ "no hole where the other one has one",
		  { 64, 4096, 0, 0 },
		  { 0, 0, 0, 0 },
		  -ENOMEM },
		{ "one where the other one has none", { 0, 0, 0, 0 }, { 80, 4096, 0, 0 }, -ENOMEM },
		{ "of another size", { 64, 4096, 0, 0 }, { 80, 8192, 0, 0 }, -ENOMEM },
		{ "elsewhere", { 64, 4096, 0, 0 }, { 64, 4096, 0, 0 }, -ENOMEM },
		{ "at the end", { STACK_SIZE, 4096, 0, 0 }, { STACK_SIZE, 4096, 0, 0 }, -ENOMEM },
		{ "behind the end", { 64, 4096, 0, 0 }, { STACK_SIZE + 8, 4096, 0, 0 }, -EINVAL },
		{ "with an island that is not there",
		  { 64, 4096, 0, 0 },
		  { 80, 4096, 1, 0 },
		  -EINVAL },
		{ "with too many", { 64, 4096, 0, 0 }, { 80, 4096, ~0u, 0 }, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshots snapshots = { 0 };
		struct snapshot *first, *second = NULL;
		struct record record = make(3, 7, STACK, (struct fpl_shared){ 0 });

		record.hole = cases[i].first;
		assert_int_equal(take(&snapshots, &record, &first), 0);
		record = make(3, 9, STACK - 16, (struct fpl_shared){ 7, 96, 128, 0 });
		record.hole = cases[i].second;
		if (take(&snapshots, &record, &second) != cases[i].code)
			fail_msg("%s", cases[i].what);
		snapshots_fini(&snapshots);
		snapshot_put(first);
		snapshot_put(second);
	}
}

static void truncated_record_is_refused(void **state)
{
	struct record record = make(0, 1, STACK, (struct fpl_shared){ 0 });
	struct snapshots snapshots = { 0 };
	struct snapshot *snapshot;

	(void)state;
	for (uint32_t size = sizeof(record.sample); size < sizeof(record); size += 8) {
		AUTO_FREE void *copy = malloc(size); /* so that a sanitizer sees what is behind */

		assert_non_null(copy);
		record.sample.header.size = size;
		memcpy(copy, &record, size);
		assert_int_equal(snapshots_take(&snapshots, copy, size, &snapshot), -EINVAL);
	}
	record.sample.header.size = sizeof(record);
	assert_int_equal(snapshots_take(&snapshots, &record, sizeof(record) - 8, &snapshot),
			 -EINVAL);
	snapshots_fini(&snapshots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_bytes_are_those_at_the_same_addresses),
		cmocka_unit_test(invalid_share_is_refused),
		cmocka_unit_test(copies_with_different_holes_share_nothing),
		cmocka_unit_test(truncated_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
