/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a JVM's code as of the time it was read, and the regions that walks find it by. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/names.h"
#include "jit/hotspot.h"
#include "profile/code_maker.h"
#include "profile/jvm_code.h"
#include "profile/regions.h"

/* A reading at @time_ns that asks about the interpreter and about what is at 0x2000. */
static void read_at(struct jvm_code *code, uint64_t time_ns, const char *name, size_t want_new)
{
	struct code_table table;
	size_t nr = 0;

	code_table_init(&table, 1 << 16);
	assert_int_equal(code_table_add(&table, 0x1000, 64, 0, "Interpreter", 11), 0);
	if (name)
		assert_int_equal(code_table_add(&table, 0x2000, 64, 0, name, strlen(name)), 0);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_int_equal(jvm_code_add(code, &table, 1 << 16, &nr), 0);
	code->read_ns = time_ns;
	assert_int_equal(nr, want_new);
	assert_int_equal(jvm_code_arrange(code), 0);
	code_table_fini(&table);
}

static const char *found(const struct jvm_code *code, uint64_t addr, uint64_t time_ns)
{
	struct code_match match;

	return jvm_code_find(code, addr, time_ns, &match) ? match.name : "";
}

static void code_has_the_name_of_its_time(void **state)
{
	struct jvm_code code = { 0 };

	(void)state;
	read_at(&code, 100, "A.first", 2);
	read_at(&code, 200, "A.first", 0);
	read_at(&code, 300, "A.second", 1);
	read_at(&code, 400, NULL, 0);
	assert_int_equal(code.all.nr, 3);
	assert_string_equal(found(&code, 0x2010, 50), "A.first");
	assert_string_equal(found(&code, 0x2010, 199), "A.first");
	assert_string_equal(found(&code, 0x2010, 201), "A.second"); /* after the reading at 200 */
	assert_string_equal(found(&code, 0x2010, 500), "A.second");
	assert_string_equal(found(&code, 0x1010, 500), "Interpreter");
	assert_string_equal(found(&code, 0x3000, 500), "");
	read_at(&code, 500, "A.first", 1); /* it is there again */
	assert_string_equal(found(&code, 0x2010, 350), "A.second");
	assert_string_equal(found(&code, 0x2010, 450), "A.first");
	jvm_code_fini(&code);
}

/* A list of all code, read at @time_ns; code was mapped last at @mapped_ns. */
static void read_list(struct jvm_code *code, uint64_t time_ns, uint64_t mapped_ns, const char *name)
{
	struct code_table table;
	size_t nr;

	code_table_init(&table, 1 << 16);
	if (name)
		assert_int_equal(code_table_add(&table, 0x2000, 64, 0, name, strlen(name)), 0);
	assert_int_equal(code_table_arrange(&table), 0);
	jvm_code_drop(code, &table, mapped_ns, time_ns);
	assert_int_equal(jvm_code_add(code, &table, 1 << 16, &nr), 0);
	code->read_ns = time_ns; /* as for a JVM */
	assert_int_equal(jvm_code_arrange(code), 0);
	code_table_fini(&table);
}

static void code_that_is_gone_names_nothing_later(void **state)
{
	struct jvm_code code = { 0 };

	(void)state;
	read_list(&code, 100, 90, "first");
	read_list(&code, 200, 180, NULL);
	assert_int_equal(code.last.nr, 0);
	read_list(&code, 300, 180, NULL);
	assert_int_equal(code.all.nr, 2); /* it goes once */
	assert_string_equal(found(&code, 0x2010, 50), "first");
	assert_string_equal(found(&code, 0x2010, 179), "first");
	assert_string_equal(found(&code, 0x2010, 181), "");
	assert_string_equal(found(&code, 0x2010, 1000), "");
	read_list(&code, 400, 350, "second");
	assert_string_equal(found(&code, 0x2010, 179), "first");
	assert_string_equal(found(&code, 0x2010, 349), "");
	assert_string_equal(found(&code, 0x2010, 351), "second");
	read_list(&code, 500, 350, "second");
	assert_int_equal(code.all.nr, 3);
	jvm_code_fini(&code);
}

/* A reading may be ahead of the news that code was mapped. */
static void when_code_went_is_told_later(void **state)
{
	struct jvm_code code = { 0 };

	(void)state;
	read_list(&code, 100, 90, "first");
	read_list(&code, 200, 90, "second");
	assert_string_equal(found(&code, 0x2010, 300), "first");
	read_list(&code, 300, 150, "second");
	assert_string_equal(found(&code, 0x2010, 149), "first");
	assert_string_equal(found(&code, 0x2010, 151), "second");
	/* no news come: it goes when it was missed first */
	read_list(&code, 400, 150, NULL);
	read_list(&code, 400 + JVM_GONE_NS, 150, NULL);
	assert_string_equal(found(&code, 0x2010, 500), "second");
	read_list(&code, 401 + JVM_GONE_NS, 150, NULL);
	assert_string_equal(found(&code, 0x2010, 399), "second");
	assert_string_equal(found(&code, 0x2010, 401), "");
	/* it comes back before */
	read_list(&code, 2 * JVM_GONE_NS, 150, "third");
	read_list(&code, 2 * JVM_GONE_NS + 10, 150, NULL);
	read_list(&code, 2 * JVM_GONE_NS + 20, 150, "third");
	read_list(&code, 9 * JVM_GONE_NS, 150, "third");
	assert_string_equal(found(&code, 0x2010, 9 * JVM_GONE_NS), "third");
	jvm_code_fini(&code);
}

/* Code elsewhere is left as it is, and code that lies where other code was replaces all of it.
 */
static void answers_are_put_among_what_is_known(void **state)
{
	static const struct {
		uint64_t start, size;
		const char *name;
		size_t nr_last, nr_new;
	} cases[] = {
		{ 0x3000, 0x100, "C", 1, 1 },  { 0x1000, 0x100, "A", 2, 1 },
		{ 0x2000, 0x100, "B", 3, 1 },  { 0x2000, 0x100, "B", 3, 0 },
		{ 0x2080, 0x100, "D", 3, 1 },  { 0x2000, 0x100, "B", 3, 1 },
		{ 0x1080, 0x2000, "E", 1, 1 },
	};
	struct jvm_code code = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_table table;
		size_t nr;

		print_message("%zu: %s\n", i, cases[i].name);
		code_table_init(&table, 1 << 16);
		assert_int_equal(
			code_table_add(&table, cases[i].start, cases[i].size, 0, cases[i].name, 1),
			0);
		assert_int_equal(code_table_arrange(&table), 0);
		assert_int_equal(jvm_code_add(&code, &table, 1 << 16, &nr), 0);
		code.read_ns = 100 * (i + 1);
		code_table_fini(&table);
		assert_int_equal(nr, cases[i].nr_new);
		assert_int_equal(code.last.nr, cases[i].nr_last);
		for (size_t j = 1; j < code.last.nr; j++)
			assert_true(code.last.list[j - 1].end <= code.last.list[j].start);
	}
	assert_int_equal(jvm_code_arrange(&code), 0);
	assert_string_equal(found(&code, 0x2090, 350), "B");
	assert_string_equal(found(&code, 0x2090, 450), "D");
	assert_string_equal(found(&code, 0x2090, 550), "B");
	assert_string_equal(found(&code, 0x2090, 650), "E");
	jvm_code_forget(&code);
	assert_string_equal(found(&code, 0x2090, 650), "");
	jvm_code_fini(&code);
}

static void names_have_so_much_room(void **state)
{
	struct jvm_code code = { 0 };
	struct code_table table;
	size_t nr;

	(void)state;
	code_table_init(&table, 1 << 16);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(code_table_add(&table, 0x1000 + 16 * i, 16, 0, "A.name", 6), 0);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_int_equal(jvm_code_add(&code, &table, 50 * (CODE_ENTRY_CHARGE + 7), &nr), -ENOSPC);
	assert_int_equal(nr, 50);
	assert_int_equal(jvm_code_arrange(&code), 0);
	assert_string_equal(found(&code, 0x1000, 0), "A.name");
	assert_string_equal(found(&code, 0x1000 + 16 * 50, 0), "");
	code_table_fini(&table);
	jvm_code_fini(&code);
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
		region.start++; /* equal ones are one */
		assert_int_equal(regions_add(regions, &region, &ref), 0);
		assert_int_equal(ref & 0xffff, i);
	}
	region.start++;
	assert_int_equal(regions_add(regions, &region, &ref), 0);
	assert_int_equal(ref & 0xffff, 1);
	assert_int_not_equal(ref, first);
	regions_remove(regions, first); /* the slot is another's by now */
	assert_int_equal(entries[1].id, ref >> 16);
	region.start++;
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
	/* which code it is of those that were there */
	assert_int_equal(frame_addr(FPL_FRAME_JIT | fpl_frame_tag(5) | 0x1000), 0x1000);
	assert_int_equal(frame_code_addr(FPL_FRAME_JIT | fpl_frame_tag(5) | 0x1000),
			 FPL_CODE_TAGGED | 6ull << FPL_FRAME_TAG_SHIFT | 0x1000);
	assert_int_equal(frame_code_addr(FPL_FRAME_JIT | 0x1000), 0x1000);
	assert_int_equal(fpl_code_plain(FPL_CODE_TAGGED | fpl_frame_tag(5) | 0x1000), 0x1000);
	/* a text in the place of a return address */
	assert_int_equal(frame_addr(by_fp | FPL_FRAME_RAW | 0x474656469726F57), 0x474656469726F57);
}

static void what_makes_code_is_known_by_its_name(void **state)
{
	static const struct {
		const char *path;
		enum code_maker maker;
	} cases[] = {
		{ "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", CODE_MAKER_JVM },
		{ "/libjvm.so", CODE_MAKER_JVM },
		{ "/usr/lib/x86_64-linux-gnu/libpcre2-8.so.0.11.2", CODE_MAKER_PCRE2 },
		{ "/usr/sbin/php-fpm8.2", CODE_MAKER_PHP },
		{ "/usr/lib/libphp8.2.so", CODE_MAKER_PHP },
		{ "/usr/bin/qemu-aarch64-static", CODE_MAKER_QEMU },
		{ "/usr/lib/x86_64-linux-gnu/libguile-3.0.so.1.5.0", CODE_MAKER_GUILE },
		{ "/usr/bin/luajit-2.1.0-beta3", CODE_MAKER_LUAJIT },
		{ "/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2.1.0", CODE_MAKER_LUAJIT },
		{ "/usr/lib/erlang/erts-13.1.5/bin/beam.smp", CODE_MAKER_BEAM },
		{ "/usr/lib/debug/beam.smp.debug", CODE_MAKER_NONE },
		{ "/usr/bin/grep", CODE_MAKER_NONE },
		{ "/opt/notlibjvm.so", CODE_MAKER_NONE },
		{ "/opt/libjvm.so.debug", CODE_MAKER_NONE },
		{ "/opt/libjvm.so/libx.so", CODE_MAKER_NONE },
		{ "[vdso]", CODE_MAKER_NONE },
		{ "", CODE_MAKER_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(code_maker_of(cases[i].path), cases[i].maker);
}

/* A new stack has the return address 0x2009, where "A.first" is, or "A.second" later. What the JVM
 * is asked is answered. @line: of what is inlined there. Returns how often it was asked. */
static unsigned read_line_at(struct jvm_code *code, uint64_t time_ns, const char *name,
			     uint32_t line)
{
	const struct symbol_line lines[] = { { .name = "B.inner", .file = "B.java", .line = line },
					     { .name = name } };
	const uint64_t frame = FPL_FRAME_JIT | 0x2009;
	struct code_table table;
	uint64_t asked;
	uint32_t met;
	unsigned nr_asked = 0;
	size_t nr;

	jvm_code_meet(code, &frame, 1);
	while (jvm_code_ask(code, &asked, &met, 1)) {
		nr_asked++;
		assert_int_equal(asked & ~(uint64_t)HOTSPOT_ASKED_LINES, hotspot_asked(0x2008, 0));
		code_table_init(&table, 1 << 16);
		assert_int_equal(code_table_add(&table, 0x2000, 64, 0, name, strlen(name)), 0);
		if (asked & HOTSPOT_ASKED_LINES)
			assert_int_equal(code_table_add_lines(&table, 0x2008, 0x2000, 0, lines, 2),
					 0);
		assert_int_equal(code_table_arrange(&table), 0);
		assert_int_equal(jvm_code_add(code, &table, 1 << 16, &nr), 0);
		jvm_code_settle(code, &asked, &met, 1);
		code_table_fini(&table);
	}
	code->read_ns = time_ns;
	return nr_asked;
}

static uint32_t line_at(const struct jvm_code *code, uint64_t time_ns)
{
	struct code_match match;

	assert_true(jvm_code_find(code, 0x2008, time_ns, &match));
	return match.lines.nr ? code_lines_at(&match.lines, 0).line : 0;
}

static void lines_are_asked_once_of_each_function(void **state)
{
	struct jvm_code code = { 0 };

	(void)state;
	assert_int_equal(read_line_at(&code, 100, "A.first", 7), 1);
	assert_int_equal(read_line_at(&code, 200, "A.first", 0), 1); /* for the name alone */
	assert_int_equal(code.all.nr_lines, 2);
	assert_int_equal(read_line_at(&code, 300, "A.second", 9), 2);
	assert_int_equal(jvm_code_arrange(&code), 0);
	assert_int_equal(line_at(&code, 50), 7);
	assert_int_equal(line_at(&code, 199), 7);
	assert_string_equal(found(&code, 0x2008, 199), "A.first");
	assert_int_equal(line_at(&code, 201), 9);
	assert_string_equal(found(&code, 0x2008, 201), "A.second");
	jvm_code_fini(&code);
}

static void addresses_in_regions_are_asked_about_when_a_stack_has_them(void **state)
{
	const uint64_t leaf = FPL_FRAME_JIT | FPL_FRAME_EXACT | 0x1000;
	const uint64_t frames[] = { leaf, FPL_FRAME_JIT | 0x2000, FPL_FRAME_RAW | 0x3000,
				    FPL_FRAME_JIT | 0x2000, 0x4000 };
	struct jvm_code code = { 0 };
	uint64_t asked[4];
	uint32_t met[4];

	(void)state;
	jvm_code_meet(&code, frames, ARRAY_SIZE(frames));
	jvm_code_meet(&code, frames, ARRAY_SIZE(frames));
	assert_int_equal(jvm_code_ask(&code, asked, met, 1), 1);
	assert_int_equal(asked[0], hotspot_asked(0x1000, HOTSPOT_ASKED_LEAF | HOTSPOT_ASKED_LINES));
	assert_int_equal(jvm_code_ask(&code, asked, met, 4), 1);
	assert_int_equal(asked[0], hotspot_asked(0x1fff, HOTSPOT_ASKED_LINES));
	assert_int_equal(jvm_code_ask(&code, asked, met, 4), 0);
	jvm_code_meet(&code, frames, 1);
	assert_int_equal(jvm_code_ask(&code, asked, met, 4), 1);
	assert_int_equal(asked[0], hotspot_asked(0x1000, HOTSPOT_ASKED_LEAF | HOTSPOT_ASKED_LINES));
	jvm_code_fini(&code);
}

static void addresses_are_forgotten_when_there_are_too_many(void **state)
{
	struct jvm_code code = { 0 };
	uint64_t asked, frame;
	uint32_t met;

	(void)state;
	for (uint64_t i = 0; i <= JVM_MET_MAX; i++) {
		frame = FPL_FRAME_JIT | FPL_FRAME_EXACT | (0x1000 + i);
		jvm_code_meet(&code, &frame, 1);
	}
	assert_int_equal(code.met.nr, JVM_MET_MAX);
	assert_int_equal(code.news.nr, JVM_MET_MAX);
	code.news.nr = 1;
	assert_int_equal(jvm_code_ask(&code, &asked, &met, 1), 1);
	jvm_code_settle(&code, &asked, &met, 1);
	assert_int_equal(code.met.nr, 0);
	jvm_code_meet(&code, &frame, 1);
	assert_int_equal(jvm_code_ask(&code, &asked, &met, 1), 1);
	jvm_code_fini(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_by_frame_pointers_is_told_wherever_it_leads),
		cmocka_unit_test(code_has_the_name_of_its_time),
		cmocka_unit_test(code_that_is_gone_names_nothing_later),
		cmocka_unit_test(when_code_went_is_told_later),
		cmocka_unit_test(answers_are_put_among_what_is_known),
		cmocka_unit_test(names_have_so_much_room),
		cmocka_unit_test(lines_are_asked_once_of_each_function),
		cmocka_unit_test(addresses_in_regions_are_asked_about_when_a_stack_has_them),
		cmocka_unit_test(addresses_are_forgotten_when_there_are_too_many),
		cmocka_unit_test(a_slot_of_a_region_is_used_again_last_and_with_another_id),
		cmocka_unit_test(what_makes_code_is_known_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
