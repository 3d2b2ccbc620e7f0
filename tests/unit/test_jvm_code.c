/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a JVM's code as of the time it was read, and the regions that walks find it by. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/names.h"
#include "profile/jvm.h"
#include "profile/jvm_code.h"
#include "profile/met_code.h"
#include "profile/regions.h"

static void read_at(struct jvm_codes *codes, uint64_t gen, uint64_t time_ns, const char *name,
		    size_t want_new)
{
	struct code_table table;
	size_t nr = 0;

	code_table_init(&table, 1 << 16);
	assert_int_equal(code_table_add(&table, 0x1000, 64, 0, "Interpreter", 11), 0);
	if (name)
		assert_int_equal(code_table_add(&table, 0x2000, 64, 0, name, strlen(name)), 0);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_int_equal(jvm_codes_add(codes, gen, time_ns, &table, 1 << 16, &nr), 0);
	assert_int_equal(nr, want_new);
}

static const char *found(struct code_table *table, uint64_t addr, uint64_t time_ns)
{
	struct code_match match;

	return code_table_find(table, addr, time_ns, &match) ? match.name : "";
}

static void code_has_the_name_of_its_time(void **state)
{
	struct jvm_codes codes = { 0 };
	struct code_table *all;

	(void)state;
	read_at(&codes, 1, 100, "A.first", 2);
	read_at(&codes, 1, 200, "A.first", 0);
	read_at(&codes, 2, 250, "B.other", 2); /* another image */
	read_at(&codes, 1, 300, "A.second", 1);
	read_at(&codes, 1, 400, NULL, 0);
	assert_int_equal(codes.images.nr, 2);
	all = &codes.images.list[0].all;
	assert_int_equal(code_table_arrange(all), 0);
	assert_int_equal(all->nr, 3);
	assert_string_equal(found(all, 0x2010, 50), "A.first");
	assert_string_equal(found(all, 0x2010, 199), "A.first");
	assert_string_equal(found(all, 0x2010, 201),
			    "A.second"); /* it came after the reading at 200 */
	assert_string_equal(found(all, 0x2010, 500), "A.second");
	assert_string_equal(found(all, 0x1010, 500), "Interpreter");
	assert_string_equal(found(all, 0x3000, 500), "");
	jvm_codes_fini(&codes);
}

static void a_slot_of_a_region_is_used_again_last_and_with_another_id(void **state)
{
	struct fpl_region *entries = calloc(FPL_REGIONS_MAX, sizeof(*entries));
	struct regions *regions = malloc(sizeof(*regions));
	struct fpl_region region = {
		.kind = FPL_REGION_NMETHOD,
		.start = 0x10000,
		.end = 0x20000,
		.segmap_bytes = 0x200,
		.segment_log2 = 7,
		.complete_bytes = 4,
		.code_bytes = 8,
	};
	uint64_t first, ref;

	(void)state;
	assert_true(entries && regions);
	regions_init(regions, entries);
	assert_int_equal(regions_add(regions, &region, &first), 0);
	assert_int_equal(first & 0xffff, 1);
	assert_int_equal(entries[1].id, first >> 16);
	assert_int_equal(entries[0].id, 0);
	regions_remove(regions, first);
	assert_int_equal(entries[1].id, 0);
	for (unsigned i = 2; i < FPL_REGIONS_MAX; i++) {
		assert_int_equal(regions_add(regions, &region, &ref), 0);
		assert_int_equal(ref & 0xffff, i);
	}
	assert_int_equal(regions_add(regions, &region, &ref), 0);
	assert_int_equal(ref & 0xffff, 1);
	assert_int_not_equal(ref, first);
	regions_remove(regions, first); /* the slot is another's by now */
	assert_int_equal(entries[1].id, ref >> 16);
	assert_int_equal(regions_add(regions, &region, &ref), -ENOSPC);
	assert_int_equal(regions->nr_refused, 1);
	region.end = region.start;
	assert_int_equal(regions_add(regions, &region, &ref), -EINVAL);
	free(regions);
	free(entries);
}

static void a_step_by_frame_pointers_is_told_wherever_it_leads(void **state)
{
	uint64_t by_fp = (uint64_t)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT;

	(void)state;
	assert_int_equal(frame_origin(FPL_FRAME_JIT | 0x1000), FPL_ORIGIN_JIT);
	assert_int_equal(frame_origin(by_fp | FPL_FRAME_JIT | 0x1000), FPL_ORIGIN_FP);
	assert_int_equal(frame_origin(by_fp | FPL_FRAME_RAW | 0x1000), FPL_ORIGIN_FP);
	assert_int_equal(frame_origin(FPL_FRAME_SCRIPT | 1), FPL_ORIGIN_SCRIPT);
	assert_int_equal(frame_addr(FPL_FRAME_JIT | 0x1000), 0x1000);
	/* a text in the place of a return address */
	assert_int_equal(frame_addr(by_fp | FPL_FRAME_RAW | 0x474656469726F57), 0x474656469726F57);
}

static void libjvm_is_known_by_its_name(void **state)
{
	static const struct {
		const char *path;
		bool is_jvm;
	} cases[] = {
		{ "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", true },
		{ "/libjvm.so", true },
		{ "/opt/notlibjvm.so", false },
		{ "/opt/libjvm.so.debug", false },
		{ "/opt/libjvm.so/libx.so", false },
		{ "[vdso]", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(jvm_is_library(cases[i].path), cases[i].is_jvm);
}

/* A reading that asks about an address of "A.first", or of "A.second", which is there later. */
static void read_line_at(struct jvm_codes *codes, uint64_t time_ns, const char *name, uint32_t line)
{
	const struct symbol_line lines[] = { { .name = "B.inner", .file = "B.java", .line = line },
					     { .name = name } };
	struct code_table table;
	size_t nr = 0;

	code_table_init(&table, 1 << 16);
	assert_int_equal(code_table_add(&table, 0x2000, 64, 0, name, strlen(name)), 0);
	if (line)
		assert_int_equal(code_table_add_lines(&table, 0x2008, 0x2000, 0, lines, 2), 0);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_int_equal(jvm_codes_add(codes, 1, time_ns, &table, 1 << 16, &nr), 0);
}

static uint32_t line_at(struct code_table *table, uint64_t time_ns)
{
	struct code_match match;

	assert_true(code_table_find(table, 0x2008, time_ns, &match));
	return match.lines.nr ? code_lines_at(&match.lines, 0).line : 0;
}

static void what_is_inlined_holds_as_long_as_its_code(void **state)
{
	struct jvm_codes codes = { 0 };
	struct code_table *all;

	(void)state;
	read_line_at(&codes, 100, "A.zeroth", 0);
	read_line_at(&codes, 200, "A.first", 0);
	read_line_at(&codes, 300, "A.first", 7); /* a sample met it now */
	read_line_at(&codes, 400, "A.first", 0);
	read_line_at(&codes, 500, "A.second", 0);
	all = &codes.images.list[0].all;
	assert_int_equal(code_table_arrange(all), 0);
	assert_int_equal(line_at(all, 50), 0);
	assert_string_equal(found(all, 0x2008, 50), "A.zeroth");
	assert_int_equal(line_at(all, 150), 7); /* as early as A.first is known */
	assert_int_equal(line_at(all, 350), 7);
	assert_string_equal(found(all, 0x2008, 350), "A.first");
	assert_int_equal(line_at(all, 450), 0);
	assert_string_equal(found(all, 0x2008, 450), "A.second");
	jvm_codes_fini(&codes);
}

static void addresses_that_samples_met_are_taken_once(void **state)
{
	const uint64_t leaf = FPL_FRAME_JIT | FPL_FRAME_EXACT | 0x1000;
	const uint64_t frames[] = { leaf, FPL_FRAME_JIT | 0x2000, FPL_FRAME_RAW | 0x3000,
				    FPL_FRAME_JIT | 0x2000, 0x4000 };
	struct met_code *met = NULL;
	uint64_t asked[4];
	size_t from = 0, other = 0;

	(void)state;
	assert_int_equal(met_code_create(&met), 0);
	met_code_add(met, 1, frames, ARRAY_SIZE(frames));
	met_code_add(met, 2, frames, 1);
	met_code_add(met, 1, frames, ARRAY_SIZE(frames));
	assert_int_equal(met_code_take(met, 1, &from, asked, 1), 1);
	assert_int_equal(asked[0], hotspot_asked(0x1000, true));
	assert_int_equal(met_code_take(met, 1, &from, asked, 4), 1);
	assert_int_equal(asked[0], hotspot_asked(0x1fff, false));
	assert_int_equal(met_code_take(met, 1, &from, asked, 4), 0);
	assert_int_equal(met_code_take(met, 2, &other, asked, 4), 1);
	met_code_destroy(met);
}

static void leaves_leave_room_for_calls(void **state)
{
	struct met_code *met = NULL;
	uint64_t asked[2], call = FPL_FRAME_JIT | 0x10;
	size_t from = MET_CODE_LEAVES_MAX;

	(void)state;
	assert_int_equal(met_code_create(&met), 0);
	for (uint64_t i = 0; i <= MET_CODE_LEAVES_MAX; i++) {
		uint64_t leaf = FPL_FRAME_JIT | FPL_FRAME_EXACT | (0x1000 + i);

		met_code_add(met, 1, &leaf, 1);
	}
	met_code_add(met, 1, &call, 1);
	assert_int_equal(met_code_take(met, 1, &from, asked, 2), 1);
	assert_int_equal(asked[0], hotspot_asked(0xf, false));
	met_code_destroy(met);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_by_frame_pointers_is_told_wherever_it_leads),
		cmocka_unit_test(code_has_the_name_of_its_time),
		cmocka_unit_test(what_is_inlined_holds_as_long_as_its_code),
		cmocka_unit_test(addresses_that_samples_met_are_taken_once),
		cmocka_unit_test(leaves_leave_room_for_calls),
		cmocka_unit_test(a_slot_of_a_region_is_used_again_last_and_with_another_id),
		cmocka_unit_test(libjvm_is_known_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
