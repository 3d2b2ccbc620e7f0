/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Lua from bytes of their memory, and the rule of its loop. */
#include <string.h>

#include "cmocka_all.h"

#include "base/cleanup.h"
#include "script/lua.h"

#define VERSION 50404u
#define STEPS	0x7f0000001000ull

/* How the line changes with each instruction: MARKED, a mark has it. */
#define MARKED (-128)
static const int8_t lines[] = { 0, 1, 0, MARKED, 2, -1, MARKED, 0 };
static const uint32_t marks[][2] = { { 3, 100 }, { 6, 50 } };

static void put_half(uint8_t *to, size_t off, uint32_t half)
{
	memcpy(to + off, &half, sizeof(half));
}

/* A function of @source from line @first_line on. */
static void make(struct fpl_script_code *ret, const char *source, uint32_t first_line)
{
	const uint64_t steps = STEPS;

	*ret = (struct fpl_script_code){ .size = { 256, sizeof(marks), 256 },
					 .nr_lines = sizeof(lines) };
	put_half(ret->object, LUA_NR_STEPS_OFF, sizeof(lines));
	put_half(ret->object, LUA_NR_LINES_OFF, sizeof(lines));
	put_half(ret->object, LUA_NR_MARKS_OFF, ARRAY_SIZE(marks));
	put_half(ret->object, LUA_FIRST_LINE_OFF, first_line);
	memcpy(ret->object + LUA_STEPS_OFF, &steps, sizeof(steps));
	memcpy(ret->text[0], marks, sizeof(marks));
	memcpy(ret->text[1] + LUA_STRING_BYTES_OFF, source, strlen(source));
	memcpy(ret->lines, lines, sizeof(lines));
}

static void a_line_lies_between_the_first_and_the_last(void **state)
{
	static struct fpl_script_code record;
	struct script_code code;
	uint32_t line;

	(void)state;
	make(&record, "@a.lua", 12);
	assert_true(lua_read_code(VERSION, &record, &code));
	line = lua_line(&code, (uint32_t)STEPS + 8);
	assert_int_not_equal(line, 0);
	put_half(record.object, LUA_LAST_LINE_OFF, line);
	assert_true(lua_read_code(VERSION, &record, &code));
	assert_int_equal(lua_line(&code, (uint32_t)STEPS + 8), line);
	put_half(record.object, LUA_LAST_LINE_OFF, line - 1);
	assert_true(lua_read_code(VERSION, &record, &code));
	assert_int_equal(lua_line(&code, (uint32_t)STEPS + 8), 0);
}

static void function_is_called_by_where_it_begins(void **state)
{
	static const struct {
		const char *source;
		uint32_t line;
		const char *function, *file;
	} cases[] = {
		{ "@/a/b.lua", 7, "function <b.lua:7>", "/a/b.lua" },
		{ "@b.lua", 0, "main chunk", "b.lua" },
		{ "=stdin", 1, "function <stdin:1>", "stdin" },
		{ "return 1", 0, "main chunk", "[string \"return 1\"]" },
		{ "a = 1\nb = 2", 0, "main chunk", "[string \"a = 1...\"]" },
		{ "", 0, "main chunk", "[string \"\"]" },
		{ "12345678901234567890123456789012345678901234", 0, "main chunk",
		  "[string \"12345678901234567890123456789012345678901234\"]" },
		{ "123456789012345678901234567890123456789012345", 0, "main chunk",
		  "[string \"123456789012345678901234567890123456789012345...\"]" },
		{ "1234567890123456789012345678901234567890123456", 0, "main chunk",
		  "[string \"123456789012345678901234567890123456789012345...\"]" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&record, cases[i].source, cases[i].line);
		assert_true(lua_read_code(VERSION, &record, &code));
		assert_string_equal(code.function, cases[i].function);
		assert_string_equal(code.file, cases[i].file);
		assert_int_equal(code.first_line, cases[i].line);
	}
}

static uint32_t line_behind(const struct script_code *code, uint32_t nr)
{
	return lua_line(code, (uint32_t)STEPS + nr * LUA_INSTRUCTION_BYTES);
}

static void line_is_that_of_the_instruction_before(void **state)
{
	/* behind so many instructions; none: at the first one */
	static const uint32_t wants[] = { 10, 10, 11, 11, 100, 102, 101, 50, 50, 0 };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, "@b.lua", 10);
	assert_true(lua_read_code(VERSION, &record, &code));
	for (uint32_t i = 0; i < ARRAY_SIZE(wants); i++)
		assert_int_equal(line_behind(&code, i), wants[i]);
	assert_int_equal(lua_line(&code, (uint32_t)STEPS - 4), 0);
	assert_int_equal(lua_line(&code, FPL_SCRIPT_NO_PLACE), 0);
}

static void line_behind_a_mark_that_was_not_read_is_not_known(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, "@b.lua", 10);
	record.size[1] = sizeof(marks[0]);
	assert_true(lua_read_code(VERSION, &record, &code));
	assert_int_equal(line_behind(&code, 6), 101);
	assert_int_equal(line_behind(&code, 7), 0);
	record.nr_lines = 3;
	assert_true(lua_read_code(VERSION, &record, &code));
	assert_true(code.is_cut);
	assert_int_equal(line_behind(&code, 3), 11);
	assert_int_equal(line_behind(&code, 4), 0);
}

static void marks_and_lines_that_lie_stay_in_the_record(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, "@b.lua", 10);
	put_half(record.object, LUA_NR_MARKS_OFF, UINT32_MAX);
	put_half(record.object, LUA_NR_LINES_OFF, UINT32_MAX);
	record.size[1] = FPL_SCRIPT_TEXT_BYTES;
	record.nr_lines = sizeof(record.lines);
	assert_true(lua_read_code(VERSION, &record, &code));
	assert_int_equal(code.nr_marks, FPL_SCRIPT_TEXT_BYTES / 8);
	assert_int_equal(code.nr_lines, sizeof(record.lines));
	/* marks in no order end at the first that goes back */
	assert_int_equal(line_behind(&code, 5), 102);
	assert_int_equal(line_behind(&code, 8000), 50);
}

static void what_is_no_function_has_no_name(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, "@b.lua", 10);
	assert_false(lua_read_code(50306, &record, &code));
	record.size[0] = LUA_FUNCTION_BYTES - 1;
	assert_false(lua_read_code(VERSION, &record, &code));
	make(&record, "@b.lua", UINT32_MAX);
	assert_false(lua_read_code(VERSION, &record, &code));
	make(&record, "@b.lua", 10);
	record.size[2] = 0; /* the file's name was not read */
	assert_false(lua_read_code(VERSION, &record, &code));
}

static void rule_is_that_of_known_versions(void **state)
{
	struct script_facts facts = { .version = VERSION,
				      .language = SCRIPT_LUA,
				      .ranges = { { 0x5000, 0x6000 } },
				      .nr_ranges = 1,
				      .place_regs = { [3] = 3, [4] = 6 },
				      .value_regs = { [3] = 12, [4] = 13 } };
	struct fpl_script_rule rule;
	char version[SCRIPT_VERSION_MAX];

	(void)state;
	assert_true(lua_language.rule(&facts, 9, &rule));
	assert_int_equal(rule.object, 9);
	assert_true(rule.check_is_value);
	assert_int_equal(rule.carries, FPL_SCRIPT_CARRIES_NOTHING);
	assert_int_equal(rule.leaf_reg, 13);
	assert_int_equal(script_language_place(&facts, &rule), 6);
	facts.place_regs[4] = 0;
	assert_int_equal(script_language_place(&facts, &rule), 0);
	lua_language.say_version(&facts, version);
	assert_string_equal(version, "Lua 5.4.4");
	facts.version = 50306;
	assert_false(lua_language.rule(&facts, 9, &rule));
	lua_language.say_version(&facts, version);
	assert_string_equal(version, "Lua 5.3.6");
	facts.version = VERSION;
	facts.nr_ranges = 0;
	assert_false(lua_language.rule(&facts, 9, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_is_called_by_where_it_begins),
		cmocka_unit_test(a_line_lies_between_the_first_and_the_last),
		cmocka_unit_test(line_is_that_of_the_instruction_before),
		cmocka_unit_test(line_behind_a_mark_that_was_not_read_is_not_known),
		cmocka_unit_test(marks_and_lines_that_lie_stay_in_the_record),
		cmocka_unit_test(what_is_no_function_has_no_name),
		cmocka_unit_test(rule_is_that_of_known_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
