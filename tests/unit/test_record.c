/* SPDX-License-Identifier: Apache-2.0 */
/* Ring records as untrusted bytes, and the naming of the raw frames in them. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/mapset.h"
#include "profile/record.h"

/* Sizes of the parts, for a record of @nr frames. */
#define FRAMES_END(nr) (sizeof(struct fpl_sample) + 8u * (nr))
#define REGS_END(nr)   (FRAMES_END(nr) + sizeof(struct fpl_regs))

static void every_part_must_lie_within_the_record(void **state)
{
	static const struct {
		const char *what;
		uint16_t nr_user, nr_kernel, nr_fp;
		uint32_t stack_size;
		size_t size; /* of the record; its header says so */
		bool frames, walk;
	} cases[] = {
		{ "no frames", 0, 0, 0, 0, FRAMES_END(0), true, false },
		{ "frames of all sorts", 2, 3, 4, 0, FRAMES_END(9), true, false },
		{ "a user frame too many", 3, 3, 4, 0, FRAMES_END(9), false, false },
		{ "a kernel frame too many", 2, 4, 4, 0, FRAMES_END(9), false, false },
		{ "an fp frame too many", 2, 3, 5, 0, FRAMES_END(9), false, false },
		{ "half of the last frame", 2, 3, 4, 0, FRAMES_END(9) - 4, false, false },
		{ "as many as can be said", 65535, 65535, 65535, 0, REGS_END(9), false, false },
		{ "registers", 2, 3, 4, 0, REGS_END(9), true, true },
		{ "registers cut short", 2, 3, 4, 0, REGS_END(9) - 8, true, false },
		{ "registers behind an fp frame", 2, 3, 5, 0, REGS_END(9), true, false },
		{ "a stack", 2, 3, 4, 64, REGS_END(9) + 64, true, true },
		{ "a stack cut short", 2, 3, 4, 64, REGS_END(9) + 56, true, false },
		{ "a stack that wraps", 2, 3, 4, UINT32_MAX, REGS_END(9) + 64, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* exactly as long as it says, so that a sanitizer sees a read behind it */
		AUTO_FREE struct fpl_sample *sample = calloc(1, cases[i].size);
		size_t nr = (size_t)cases[i].nr_user + cases[i].nr_kernel + cases[i].nr_fp;

		assert_non_null(sample);
		sample->header.size = (uint32_t)cases[i].size;
		sample->nr_user = cases[i].nr_user;
		sample->nr_kernel = cases[i].nr_kernel;
		sample->nr_fp = cases[i].nr_fp;
		if (REGS_END(nr) <= cases[i].size)
			((struct fpl_regs *)record_regs(sample))->stack_size = cases[i].stack_size;
		if (record_holds_frames(sample, cases[i].size) != cases[i].frames ||
		    record_holds_walk(sample, cases[i].size) != cases[i].walk)
			fail_msg("%s", cases[i].what);
		sample->header.size += 8;
		assert_false(record_holds_walk(sample, cases[i].size));
	}
}

#define RAW(addr)	     (FPL_FRAME_RAW | (addr))
#define FP		     ((uint64_t)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT)
#define FRAME(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))

static void raw_frames_of_both_walks_are_named_by_one_mapset(void **state)
{
	static const struct fpl_mapping maps[] = {
		{ .start = 0x1000, .end = 0x2000, .bias = 0x800, .object = 1 },
		{ .start = 0x2000, .end = 0x3000, .bias = 0x100, .object = 2 },
		{ .start = 0x3000, .end = 0x4000, .flags = FPL_MAPPING_ANON },
		/* its vaddrs are more than a frame can say */
		{ .start = 1ull << 41, .end = (1ull << 41) + 0x1000, .object = 3 },
	};
	static const struct {
		const char *what;
		uint64_t raw, named;
	} cases[] = {
		{ "a return address", RAW(0x1234), FRAME(1, 0xa34) },
		{ "the pc itself", FPL_FRAME_EXACT | RAW(0x2000),
		  FPL_FRAME_EXACT | FRAME(2, 0x1f00) },
		{ "a return address behind its code", RAW(0x2000), FRAME(1, 0x1800) },
		{ "the origin stays", FP | RAW(0x2345), FP | FRAME(2, 0x2245) },
		{ "code of no object", RAW(0x3456), RAW(0x3456) },
		{ "in no mapping", RAW(0x4567), RAW(0x4567) },
		{ "zero", RAW(0), RAW(0) },
		{ "a vaddr too large", RAW((1ull << 41) + 8), RAW((1ull << 41) + 8) },
		{ "named already", FRAME(9, 0x1234), FRAME(9, 0x1234) },
	};
	enum { NR = ARRAY_SIZE(cases) };
	struct {
		struct fpl_sample sample;
		uint64_t user[NR], kernel[1], fp[NR];
	} record = { .sample = { .nr_user = NR, .nr_kernel = 1, .nr_fp = NR },
		     .kernel = { RAW(0x1234) } };
	struct mapset *set = mapset_create();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		assert_int_equal(mapset_add(&set, &maps[i]), 0);
	for (size_t i = 0; i < NR; i++)
		record.user[i] = record.fp[i] = cases[i].raw;
	record_resolve(&record.sample, set);
	for (size_t i = 0; i < NR; i++) {
		if (record.user[i] != cases[i].named || record.fp[i] != cases[i].named)
			fail_msg("%s: 0x%llx, 0x%llx", cases[i].what,
				 (unsigned long long)record.user[i],
				 (unsigned long long)record.fp[i]);
	}
	assert_int_equal(record.kernel[0], RAW(0x1234)); /* an address of the kernel's */
	mapset_put(set);
}

static void a_lock_is_placed_in_the_object_below_it(void **state)
{
	static const struct fpl_mapping maps[] = {
		{ .start = 0x1000, .end = 0x2000, .bias = 0x800, .object = 1 },
		{ .start = 0x5000, .end = 0x6000, .bias = 0x4000, .object = 2 },
		{ .start = 0x8000, .end = 0x9000, .flags = FPL_MAPPING_ANON },
	};
	static const struct {
		const char *what;
		uint8_t flags;
		uint16_t nr_key;
		uint64_t addr, place;
	} cases[] = {
		{ "data behind the code", FPL_SAMPLE_BLOCKED, FPL_KEY_MAX, 0x3010,
		  FRAME(1, 0x2810) },
		{ "in the code's own pages", FPL_SAMPLE_BLOCKED, FPL_KEY_MAX, 0x5008,
		  FRAME(2, 0x1008) },
		{ "behind code of no object", FPL_SAMPLE_BLOCKED, FPL_KEY_MAX, 0x9010, 0 },
		{ "below all", FPL_SAMPLE_BLOCKED, FPL_KEY_MAX, 0x800, 0 },
		{ "too far away for a frame", FPL_SAMPLE_BLOCKED, FPL_KEY_MAX, 1ull << 47, 0 },
		{ "the key of another sample", 0, FPL_KEY_MAX, 0x3010, 0 },
		{ "no key", FPL_SAMPLE_BLOCKED, 0, 0x3010, 0 },
	};
	struct mapset *set = mapset_create();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		assert_int_equal(mapset_add(&set, &maps[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct {
			struct fpl_sample sample;
			uint64_t user[1], kernel[1], key[FPL_KEY_MAX];
		} record = { .sample = { .nr_user = 1,
					 .nr_kernel = 1,
					 .nr_key = cases[i].nr_key,
					 .flags = cases[i].flags },
			     .key = { [FPL_WAIT_ADDR] = cases[i].addr, [FPL_WAIT_LINKS] = 7 } };

		record_resolve(&record.sample, set);
		if (record.key[FPL_WAIT_PLACE] != cases[i].place ||
		    record.key[FPL_WAIT_ADDR] != cases[i].addr || record.key[FPL_WAIT_LINKS] != 7)
			fail_msg("%s: 0x%llx", cases[i].what,
				 (unsigned long long)record.key[FPL_WAIT_PLACE]);
	}
	mapset_put(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_must_lie_within_the_record),
		cmocka_unit_test(raw_frames_of_both_walks_are_named_by_one_mapset),
		cmocka_unit_test(a_lock_is_placed_in_the_object_below_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
