/* SPDX-License-Identifier: Apache-2.0 */
/* Code of Ruby from bytes of its memory, and the rule of its loop. */
#include <string.h>

#include "cmocka_all.h"

#include "base/cleanup.h"
#include "script/ruby.h"

#define V3_1	  30102u
#define V3_3	  30308u
#define STEPS	  0x55d000001000ull
#define STRING	  5u
#define ARRAY	  7u
#define ELSEWHERE 0x2000u /* of a string */
#define WITHIN	  0x2000u /* of an array */
#define SHORT(nr) ((nr) << 14)

static void put_word(uint8_t *to, size_t off, uint64_t word)
{
	memcpy(to + off, &word, sizeof(word));
}

static void put_half(uint8_t *to, size_t off, uint32_t half)
{
	memcpy(to + off, &half, sizeof(half));
}

static uint8_t *text_at(struct fpl_script_code *record, uint32_t i)
{
	return i < FPL_SCRIPT_TEXTS
		       ? record->text[i]
		       : record->lines + (i - FPL_SCRIPT_TEXTS) * FPL_SCRIPT_TEXT_BYTES;
}

/* The string @text in text @object of @record, within it or in text @elsewhere; 0: within. */
static void put_string(struct fpl_script_code *record, uint64_t version, uint32_t object,
		       uint32_t elsewhere, const char *text)
{
	uint8_t *to = text_at(record, object);

	memset(to, 0, FPL_SCRIPT_TEXT_BYTES);
	if (elsewhere) {
		put_word(to, 0, STRING | ELSEWHERE);
		put_word(to, 16, strlen(text));
		memcpy(text_at(record, elsewhere), text, strlen(text) + 1);
	} else if (version == V3_1) {
		put_word(to, 0, STRING | SHORT(strlen(text)));
		memcpy(to + 16, text, strlen(text));
	} else {
		put_word(to, 0, STRING);
		put_word(to, 16, strlen(text));
		memcpy(to + 24, text, strlen(text));
	}
}

/* Code of "f" in "a.rb" from line 7 on, with @nr entries of its table of lines: 10, 20, ... */
static void make(struct fpl_script_code *ret, uint64_t version, uint32_t nr)
{
	const struct ruby_layout *layout = ruby_layout(version);

	*ret = (struct fpl_script_code){ .size = { 256, 256, 256 } };
	put_word(ret->object, RUBY_STEPS_OFF, STEPS);
	put_half(ret->object, layout->first_line, layout->line_is_value ? 15 : 7);
	put_half(ret->object, layout->nr_lines, nr);
	put_string(ret, version, RUBY_LABEL, 0, "f");
	put_string(ret, version, RUBY_PATHS, 0, "a.rb");
	for (uint32_t i = 0; i < nr; i++)
		put_half(ret->lines, FPL_SCRIPT_MORE_BYTES + i * RUBY_LINE_BYTES, 10 * (i + 1));
	ret->nr_lines = FPL_SCRIPT_MORE_BYTES + nr * RUBY_LINE_BYTES;
}

static const uint64_t versions[] = { V3_1, V3_3 };

static void names_are_within_their_objects_or_behind_them(void **state)
{
	static const char long_name[] = "block in a_method_with_a_long_name";
	static const char long_path[] = "/usr/share/ruby/vendor/a/b/c.rb";
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		make(&record, versions[i], 1);
		assert_true(ruby_read_code(versions[i], &record, &code));
		assert_string_equal(code.function, "f");
		assert_string_equal(code.file, "a.rb");
		assert_int_equal(code.first_line, 7);
		put_string(&record, versions[i], RUBY_LABEL, RUBY_LABEL_TEXT, long_name);
		put_string(&record, versions[i], RUBY_PATHS, RUBY_PATHS_TEXT, long_path);
		assert_true(ruby_read_code(versions[i], &record, &code));
		assert_string_equal(code.function, long_name);
		assert_string_equal(code.file, long_path);
		/* {path, real path} */
		put_word(text_at(&record, RUBY_PATHS), 0, ARRAY | WITHIN);
		put_string(&record, versions[i], RUBY_PATH, 0, "b.rb");
		assert_true(ruby_read_code(versions[i], &record, &code));
		assert_string_equal(code.file, "b.rb");
		put_string(&record, versions[i], RUBY_PATH, RUBY_PATH_TEXT, long_path);
		assert_true(ruby_read_code(versions[i], &record, &code));
		assert_string_equal(code.file, long_path);
		/* elements elsewhere: none is looked for there */
		put_word(text_at(&record, RUBY_PATHS), 0, ARRAY);
		assert_true(ruby_read_code(versions[i], &record, &code));
		assert_string_equal(code.file, "");
	}
}

static uint32_t line_behind(const struct script_code *code, uint32_t steps)
{
	return ruby_line(code, (uint32_t)STEPS + steps * RUBY_STEP_BYTES);
}

static void line_is_found_by_the_index(void **state)
{
	static const struct {
		const char *what;
		uint32_t steps, want;
	} cases[] = {
		{ "at the first", 0, 10 },
		{ "behind the first", 1, 10 },
		{ "eighth of a word", 8, 10 },
		{ "in the second word", 12, 20 },
		{ "in the last word", 54, 30 },
		{ "first of the block", 55, 40 },
		{ "second word of it", 54 + 66, 50 },
		{ "behind it", 54 + 67, 50 },
	};
	struct fpl_script_code record;
	struct script_code code;
	uint8_t *index;

	(void)state;
	make(&record, V3_1, 5);
	index = text_at(&record, RUBY_INDEX);
	/* entries begin at 0, 10, 45, 54 and 119 */
	for (uint32_t step = 0; step < 54; step++) {
		uint64_t word, nr = step < 10 ? 1 : step < 45 ? 2 : 3;

		memcpy(&word, index + step / 9 * 8, sizeof(word));
		put_word(index, step / 9 * 8, word | nr << step % 9 * 7);
	}
	put_half(index, 48, 3);
	put_word(index, 48 + 8, 1); /* one up to the second word */
	put_word(index, 48 + 16, 1);
	put_word(index, 48 + 24, 1ull << (119 - 54 - 64));
	assert_true(ruby_read_code(V3_1, &record, &code));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (line_behind(&code, cases[i].steps) != cases[i].want)
			fail_msg("%s: %u", cases[i].what, line_behind(&code, cases[i].steps));
	}
	/* beyond the index that was read */
	assert_int_equal(line_behind(&code, 54 + 6 * 512), 0);
	assert_int_equal(ruby_line(&code, FPL_SCRIPT_NO_PLACE), 0);
}

static void code_of_one_entry_has_one_line(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, V3_3, 1);
	assert_true(ruby_read_code(V3_3, &record, &code));
	assert_int_equal(line_behind(&code, 5), 10);
	make(&record, V3_3, 0);
	assert_true(ruby_read_code(V3_3, &record, &code));
	assert_int_equal(line_behind(&code, 5), 0);
}

static void what_lies_stays_in_the_record(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, V3_3, 2);
	put_half(record.object, ruby_layout(V3_3)->nr_lines, UINT32_MAX);
	put_word(text_at(&record, RUBY_LABEL), 16, UINT64_MAX);
	memset(text_at(&record, RUBY_LABEL) + 24, 'x', FPL_SCRIPT_TEXT_BYTES - 24);
	memset(text_at(&record, RUBY_INDEX), 0xff, 2 * (size_t)FPL_SCRIPT_TEXT_BYTES);
	assert_true(ruby_read_code(V3_3, &record, &code));
	assert_int_equal(strlen(code.function), FPL_SCRIPT_TEXT_BYTES - 24);
	assert_true(code.is_cut);
	assert_int_equal(code.nr_lines, 2);
	assert_int_equal(line_behind(&code, 3), 0);
	assert_int_equal(line_behind(&code, 300), 0);
	record.nr_lines = UINT32_MAX;
	assert_true(ruby_read_code(V3_3, &record, &code));
	assert_true(code.nr_lines <= (sizeof(record.lines) - FPL_SCRIPT_MORE_BYTES) / 12);
}

static void what_is_no_code_has_no_name(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, V3_1, 1);
	assert_false(ruby_read_code(20704, &record, &code));
	record.nr_lines = FPL_SCRIPT_MORE_BYTES - 1;
	assert_false(ruby_read_code(V3_1, &record, &code));
	make(&record, V3_1, 1);
	record.size[0] = FPL_SCRIPT_OBJECT_BYTES - 8;
	assert_false(ruby_read_code(V3_1, &record, &code));
	make(&record, V3_1, 1);
	put_word(record.text[0], 0, ARRAY);
	assert_false(ruby_read_code(V3_1, &record, &code));
}

static void rule_is_that_of_known_versions(void **state)
{
	struct script_facts facts = { .version = V3_1,
				      .language = SCRIPT_RUBY,
				      .ranges = { { 0x5000, 0x6000 } },
				      .nr_ranges = 1 };
	struct fpl_script_rule rule;
	char version[SCRIPT_VERSION_MAX];

	(void)state;
	assert_true(ruby_language.rule(&facts, 9, &rule));
	assert_int_equal(rule.object, 9);
	assert_int_equal(rule.next.nr, 0);
	assert_int_equal(rule.next.off[0], 64);
	assert_true(rule.more_texts);
	ruby_language.say_version(&facts, version);
	assert_string_equal(version, "Ruby 3.1.2");
	facts.version = V3_3;
	assert_true(ruby_language.rule(&facts, 9, &rule));
	assert_int_equal(rule.next.off[0], 56);
	facts.version = 30204;
	assert_false(ruby_language.rule(&facts, 9, &rule));
	ruby_language.say_version(&facts, version);
	assert_string_equal(version, "Ruby 3.2.4");
	facts.version = V3_1;
	facts.nr_ranges = 0;
	assert_false(ruby_language.rule(&facts, 9, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_within_their_objects_or_behind_them),
		cmocka_unit_test(line_is_found_by_the_index),
		cmocka_unit_test(code_of_one_entry_has_one_line),
		cmocka_unit_test(what_lies_stays_in_the_record),
		cmocka_unit_test(what_is_no_code_has_no_name),
		cmocka_unit_test(rule_is_that_of_known_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
