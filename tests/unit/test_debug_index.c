/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "obj/debug_file.h"
#include "symbolize/debug_index.h"
#include "symbolize/interval_map.h"
#include "tests/support/debug_open.h"
#include "tests/support/elf_path.h"

/* A fixture open for reading. */
struct fixture {
	struct elf_file *elf, *debug;
	struct debug_index *index;
};

static void fixture_fini(struct fixture *fixture)
{
	debug_index_destroy(fixture->index);
	elf_file_close(fixture->debug);
	elf_file_close(fixture->elf);
}

/* Opens fixtures/@name; what debug_index_create() returned. Skips where it was not built. */
static int fixture_open(struct fixture *fixture, const char *name, bool no_demangle)
{
	const struct debug_index_options options = { .no_demangle = no_demangle };
	char path[4096];

	*fixture = (struct fixture){ .index = NULL };
	assert_true(snprintf(path, sizeof(path), "%s/%s", FIXTURES, name) < (int)sizeof(path));
	if (access(path, R_OK)) {
		print_message("SKIP: %s was not built\n", name);
		return -ENXIO;
	}
	assert_int_equal(elf_file_open_path(path, &fixture->elf, NULL), 0);
	(void)!debug_file_open(fixture->elf, path, NULL, &fixture->debug, NULL);
	return debug_index_create(fixture->debug ? fixture->debug : fixture->elf, NULL, &options,
				  &fixture->index, NULL);
}

/* Labels inside of functions are no symbols of a table of functions: read .symtab by hand. */
static uint64_t vaddr_of(const struct fixture *fixture, const char *label)
{
	const struct elf_file *elf = fixture->debug ? fixture->debug : fixture->elf;
	const struct elf_section *table = elf_file_section(elf, ".symtab");
	const struct elf_section *names = elf_file_section(elf, ".strtab");
	uint64_t found = 0;

	assert_non_null(table);
	assert_non_null(names);
	for (uint64_t off = 0; off + 24 <= table->size && !found; off += 24) {
		struct {
			uint32_t name;
			uint8_t info, other;
			uint16_t section;
			uint64_t value, size;
		} symbol;
		char text[64] = "";
		uint64_t left;

		assert_int_equal(elf_file_read(elf, table->off + off, &symbol, 24, NULL), 0);
		left = names->size - symbol.name;
		assert_int_equal(elf_file_read(elf, names->off + symbol.name, text,
					       left < sizeof(text) - 1 ? left : sizeof(text) - 1,
					       NULL),
				 0);
		if (strcmp(text, label) == 0)
			found = symbol.value;
	}
	assert_int_not_equal(found, 0);
	return found;
}

static void check_frame(const char *what, const struct symbol_line *frame, const char *name,
			const char *file, uint32_t line, uint32_t start_line)
{
	if (!frame->name || strcmp(frame->name, name) != 0 || !frame->file ||
	    strcmp(frame->file, file) != 0 || frame->line != line ||
	    frame->start_line != start_line)
		fail_msg("%s: %s at %s:%u, declared at %u; want %s at %s:%u, %u", what,
			 frame->name ? frame->name : "(none)", frame->file ? frame->file : "(none)",
			 frame->line, frame->start_line, name, file, line, start_line);
}

static const char *const whole[] = {
	"inlined_gcc5", "inlined_gcc4",	 "inlined_gcc3",   "inlined_gcc64",
	"inlined_lto",	"inlined_split", "inlined_clang5", "inlined_clang4",
};

static void inlined_frames_are_found_as_any_compiler_writes_them(void **state)
{
	struct symbol_line frames[SYMBOL_LINES_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		CLEANUP(fixture_fini) struct fixture fixture;
		int code = fixture_open(&fixture, whole[i], false);

		if (code == -ENXIO)
			continue;
		assert_int_equal(code, 0);
		assert_int_equal(
			debug_index_find(fixture.index, vaddr_of(&fixture, "here"), frames), 3);
		check_frame(whole[i], &frames[0], "leaf(int)", "/fixture/leaf.h", 13, 10);
		check_frame(whole[i], &frames[1], "space::middle(int)", "/fixture/inlined.cc", 23,
			    21);
		check_frame(whole[i], &frames[2], "outermost(int)", "/fixture/inlined.cc", 30, 28);
		assert_int_equal(
			debug_index_find(fixture.index, vaddr_of(&fixture, "there"), frames), 1);
		check_frame(whole[i], &frames[0], "outermost(int)", "/fixture/inlined.cc", 31, 28);
	}
}

static void names_stay_mangled_on_request(void **state)
{
	struct symbol_line frames[SYMBOL_LINES_MAX];
	CLEANUP(fixture_fini) struct fixture fixture;

	(void)state;
	if (fixture_open(&fixture, "inlined_gcc5", true))
		return;
	assert_int_equal(debug_index_find(fixture.index, vaddr_of(&fixture, "here"), frames), 3);
	assert_string_equal(frames[1].name, "_ZN5space6middleEi");
}

static void a_dwo_file_is_not_read(void **state)
{
	struct symbol_line frames[SYMBOL_LINES_MAX];
	CLEANUP(fixture_fini) struct fixture fixture;

	(void)state;
	if (fixture_open(&fixture, "inlined_dwo", false))
		return;
	assert_int_equal(debug_index_find(fixture.index, vaddr_of(&fixture, "here"), frames), 1);
	assert_null(frames[0].name);
	assert_string_equal(frames[0].file, "/fixture/leaf.h");
	assert_int_equal(frames[0].line, 13);
}

static void a_file_without_debugging_information_says_so(void **state)
{
	CLEANUP(fixture_fini) struct fixture fixture;

	(void)state;
	assert_true(fixture_open(&fixture, "inlined_none", false) == -ENOENT || !fixture.elf);
}

static void address_without_function_has_no_frames(void **state)
{
	struct symbol_line frames[SYMBOL_LINES_MAX];
	CLEANUP(fixture_fini) struct fixture fixture;

	(void)state;
	if (fixture_open(&fixture, "inlined_gcc5", false))
		return;
	assert_int_equal(debug_index_find(fixture.index, 0, frames), 0);
	assert_int_equal(debug_index_find(fixture.index, UINT64_MAX, frames), 0);
}

static void the_innermost_interval_has_an_address(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr;
		int want; /* -1: no caller */
	} cases[] = {
		{ "before all", 9, -1 },
		{ "the outer one begins", 10, 0 },
		{ "the inner one", 20, 1 },
		{ "in the inner one, of the same start, added later", 25, 2 },
		{ "behind that", 27, 1 },
		{ "behind the inner one", 30, 0 },
		{ "one that reaches beyond its outer", 95, 3 },
		{ "beyond", 105, 3 },
		{ "behind all", 110, -1 },
		{ "another", 200, 4 },
		{ "the last byte of the highest", UINT64_MAX - 1, 5 },
	};
	struct interval_map map = { .nr = 0 };
	uint32_t got;

	(void)state;
	assert_int_equal(interval_map_add(&map, 200, 300, 4), 0);
	assert_int_equal(interval_map_add(&map, 10, 100, 0), 0);
	assert_int_equal(interval_map_add(&map, 20, 30, 1), 0);
	assert_int_equal(interval_map_add(&map, 24, 26, 1), 0);
	assert_int_equal(interval_map_add(&map, 24, 26, 2), 0);
	assert_int_equal(interval_map_add(&map, 90, 110, 3), 0);
	assert_int_equal(interval_map_add(&map, 400, UINT64_MAX, 5), 0);
	assert_int_equal(interval_map_settle(&map), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int found = interval_map_find(&map, cases[i].addr, &got) ? (int)got : -1;

		if (found != cases[i].want)
			fail_msg("%s: %d, want %d", cases[i].what, found, cases[i].want);
	}
	interval_map_fini(&map);
}

static void first_of_equal_intervals_may_win(void **state)
{
	uint32_t got;

	(void)state;
	for (int first_wins = 0; first_wins < 2; first_wins++) {
		struct interval_map map = { .first_wins = first_wins };

		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(interval_map_add(&map, 10, 20, i), 0);
		assert_int_equal(interval_map_settle(&map), 0);
		assert_int_equal(map.nr, 1);
		assert_true(interval_map_find(&map, 19, &got));
		assert_int_equal(got, first_wins ? 0 : 2);
		interval_map_fini(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_frames_are_found_as_any_compiler_writes_them),
		cmocka_unit_test(names_stay_mangled_on_request),
		cmocka_unit_test(a_dwo_file_is_not_read),
		cmocka_unit_test(a_file_without_debugging_information_says_so),
		cmocka_unit_test(address_without_function_has_no_frames),
		cmocka_unit_test(the_innermost_interval_has_an_address),
		cmocka_unit_test(first_of_equal_intervals_may_win),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
