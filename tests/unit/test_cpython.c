/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects of CPython from bytes of their memory: names, files and lines. */
#include <string.h>

#include "cmocka_all.h"

#include "script/cpython.h"

#define CODE 0x7f0000001000ull

/* Py_Version of releases. */
#define V3_9  0x030900f0u
#define V3_10 0x030a00f0u
#define V3_11 0x030b02f0u
#define V3_13 0x030d00f0u
#define START 184u /* of the instructions of 3.11, in the code object */

static void put_word(uint8_t *to, size_t off, uint64_t word)
{
	memcpy(to + off, &word, sizeof(word));
}

/* A compact string of @width bytes a character; @off: of its characters. */
static void put_string(uint8_t *to, size_t off, const void *text, size_t nr, uint32_t width,
		       int is_ascii)
{
	put_word(to, 16, nr);
	put_word(to, 32, width << 2 | 32u | (is_ascii ? 64u : 0));
	memcpy(to + off, text, nr * width);
}

static void put_lines(struct fpl_script_code *record, const uint8_t *lines, size_t nr)
{
	put_word(record->lines, 16, nr);
	memcpy(record->lines + 32, lines, nr);
	record->nr_lines = (uint32_t)(32 + nr);
}

/* A code object of 3.11: "f" of "/a/b.py", from line 10 on. */
static void make(struct fpl_script_code *ret)
{
	uint32_t line = 10;

	*ret = (struct fpl_script_code){ .code = CODE | 0x1234ull << 48,
					 .size = { 256, 256, 256 } };
	memcpy(ret->object + 72, &line, sizeof(line));
	put_string(ret->text[0], 48, "f", 1, 1, 1);
	put_string(ret->text[1], 48, "/a/b.py", 7, 1, 1);
}

static void names_are_those_of_the_object(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record);
	assert_true(cpython_read_code(V3_11, &record, &code));
	assert_string_equal(code.function, "f");
	assert_string_equal(code.file, "/a/b.py");
	assert_int_equal(code.first_line, 10);
}

static void characters_of_each_width_are_utf_8(void **state)
{
	static const uint8_t latin[] = { 'g', 0xf6 };
	static const uint16_t wide[] = { 0x432, 'x' };
	static const uint32_t widest[] = { 0x1f40d };
	static const struct {
		const void *text;
		size_t nr;
		uint32_t width;
		const char *want;
	} cases[] = {
		{ latin, 2, 1, "g\xc3\xb6" },
		{ wide, 2, 2, "\xd0\xb2x" },
		{ widest, 1, 4, "\xf0\x9f\x90\x8d" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(&record);
		put_string(record.text[0], 72, cases[i].text, cases[i].nr, cases[i].width, 0);
		assert_true(cpython_read_code(V3_11, &record, &code));
		assert_string_equal(code.function, cases[i].want);
	}
}

static void lengths_that_lie_stay_in_the_record(void **state)
{
	static const uint64_t lengths[] = { 200, 1000, 1ull << 62, UINT64_MAX };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		make(&record);
		memset(record.text[0] + 48, 'x', FPL_SCRIPT_TEXT_BYTES - 48);
		put_word(record.text[0], 16, lengths[i]);
		put_word(record.lines, 16, lengths[i]);
		record.nr_lines = 40;
		assert_true(cpython_read_code(V3_11, &record, &code));
		assert_int_equal(strlen(code.function), lengths[i] < 208 ? lengths[i] : 208);
		assert_int_equal(code.nr_lines, 8);
		assert_true(code.is_cut);
	}
}

static void what_is_no_string_is_no_name(void **state)
{
	static const uint32_t states[] = { 0, 32, 3u << 2 | 32, 1u << 2, 7u << 2 | 96 };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		make(&record);
		put_word(record.text[0], 32, states[i]);
		assert_false(cpython_read_code(V3_11, &record, &code));
	}
	make(&record);
	record.size[1] = 40;
	assert_false(cpython_read_code(V3_11, &record, &code));
	make(&record);
	record.size[0] = 100;
	assert_false(cpython_read_code(V3_11, &record, &code));
}

/* Objects/locations.md: a head for each run of up to 8 units, then what its kind says. */
static const uint8_t lines[] = {
	0x80 | 10 << 3 | 0, 1,	  2,		 /* 1 unit: the same line */
	0x80 | 11 << 3 | 1, 1,	  2,		 /* 2 units: the next */
	0x80 | 0 << 3 | 0,  0x12,		 /* 1: the same, short */
	0x80 | 13 << 3 | 0, 0x05,		 /* 1: two back, no columns */
	0x80 | 14 << 3 | 3, 0x50, 0x03, 0, 1, 2, /* 4: 104 on */
	0x80 | 15 << 3 | 0,			 /* 1: no place */
	0x80 | 12 << 3 | 7, 1,	  2,		 /* 8: two on */
};

static void line_is_that_of_the_instruction(void **state)
{
	static const struct {
		uint64_t unit;
		uint32_t line;
	} cases[] = { { 0, 10 },  { 1, 11 }, { 2, 11 },	  { 3, 11 },   { 4, 9 },  { 5, 113 },
		      { 8, 113 }, { 9, 0 },  { 10, 115 }, { 17, 115 }, { 18, 0 }, { 1u << 30, 0 } };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record);
	put_lines(&record, lines, sizeof(lines));
	assert_true(cpython_read_code(V3_11, &record, &code));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cpython_line(&code, START + 2 * (uint32_t)cases[i].unit),
				 cases[i].line);
	/* a function that has not begun */
	assert_int_equal(cpython_line(&code, START - 2), 10);
	assert_int_equal(cpython_line(&code, 0), 10);
	assert_int_equal(cpython_line(&code, FPL_SCRIPT_NO_PLACE), 0);
}

static void lines_of_older_versions_are_those_of_pairs(void **state)
{
	/* bytes of code, and how the line changes: behind them in 3.9, before them in 3.10 */
	static const uint8_t pairs[] = { 4, 1, 6, 200, 2, 128, 255, 2 };
	static const struct {
		uint32_t version, place, line;
	} cases[] = {
		{ V3_9, 0, 200 },
		{ V3_9, 3, 200 },
		{ V3_9, 4, 201 },
		{ V3_9, 9, 201 },
		{ V3_9, 10, 145 },
		{ V3_9, 12, 17 },
		{ V3_9, 267, 19 },
		{ V3_9, 1000, 19 },
		{ V3_9, FPL_SCRIPT_NO_PLACE, 200 },
		{ V3_10, 0, 201 },
		{ V3_10, 1, 201 },
		{ V3_10, 2, 145 },
		{ V3_10, 4, 145 },
		{ V3_10, 5, 0 },
		{ V3_10, 6, 147 },
		{ V3_10, 133, 147 },
		{ V3_10, 134, 0 },
		{ V3_10, FPL_SCRIPT_NO_PLACE, 200 },
		{ V3_10, UINT32_MAX / 2, 0 },
	};
	struct fpl_script_code record;
	struct script_code code;
	uint32_t line = 200;

	(void)state;
	make(&record);
	memcpy(record.object + 40, &line, sizeof(line));
	put_lines(&record, pairs, sizeof(pairs));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(cpython_read_code(cases[i].version, &record, &code));
		assert_string_equal(code.function, "f");
		assert_int_equal(code.first_line, 200);
		assert_int_equal(cpython_line(&code, cases[i].place), cases[i].line);
	}
	record.nr_lines = 32 + 2; /* the rest was not read */
	for (size_t i = 0; i < 2; i++) {
		assert_true(cpython_read_code(i ? V3_9 : V3_10, &record, &code));
		assert_int_equal(cpython_line(&code, 100), 0);
	}
}

static void any_bytes_are_a_table_of_lines(void **state)
{
	struct fpl_script_code record;
	struct script_code code;
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		make(&record);
		for (size_t at = 0; at < 512; at++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			record.lines[at] = (uint8_t)(random >> 56);
		}
		put_word(record.lines, 16, (uint64_t)i);
		record.nr_lines = 512;
		assert_true(cpython_read_code(V3_11, &record, &code));
		for (uint64_t unit = 0; unit < 300; unit += 7)
			(void)cpython_line(&code, START + 2 * (uint32_t)unit);
	}
}

static void only_known_releases_have_a_layout(void **state)
{
	static const uint64_t others[] = { 0,	       0x030800f0, 0x030b02a1, 0x030f00f0,
					   0x020700f0, 0x040b00f0, UINT64_MAX };

	(void)state;
	assert_non_null(cpython_layout(V3_9));
	assert_non_null(cpython_layout(V3_11));
	assert_non_null(cpython_layout(V3_13));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(cpython_layout(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_object),
		cmocka_unit_test(characters_of_each_width_are_utf_8),
		cmocka_unit_test(lengths_that_lie_stay_in_the_record),
		cmocka_unit_test(what_is_no_string_is_no_name),
		cmocka_unit_test(line_is_that_of_the_instruction),
		cmocka_unit_test(lines_of_older_versions_are_those_of_pairs),
		cmocka_unit_test(any_bytes_are_a_table_of_lines),
		cmocka_unit_test(only_known_releases_have_a_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
