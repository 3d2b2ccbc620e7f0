/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of PHP from bytes of their memory, and the rule of its loop. */
#include <string.h>

#include "cmocka_all.h"

#include "script/php.h"

#define API_8_2	   20220829u
#define USER	   2u
#define EVAL	   4u
#define INTERNAL   1u
#define LINE_START 160 /* of 8.2 */

static void put_string(uint8_t *to, const char *text, uint64_t length)
{
	memcpy(to + 16, &length, sizeof(length));
	memcpy(to + 24, text, strlen(text));
}

/* A function of 8.2 in /a/b.php, from line 7 on; without a name or a class where those are NULL. */
static void make(struct fpl_script_code *ret, uint8_t type, const char *class, const char *name)
{
	const uint64_t somewhere = 0x7f0000002000;
	uint32_t line = 7;

	*ret = (struct fpl_script_code){ .size = { 256, 256, 256 }, .nr_lines = 512 };
	ret->object[0] = type;
	memcpy(ret->object + LINE_START, &line, sizeof(line));
	if (name) {
		memcpy(ret->object + 8, &somewhere, sizeof(somewhere));
		put_string(ret->text[0], name, strlen(name));
	}
	if (class) {
		memcpy(ret->object + 16, &somewhere, sizeof(somewhere));
		put_string(ret->lines, class, strlen(class));
	}
	put_string(ret->text[1], "/a/b.php", 8);
}

static void name_has_the_class(void **state)
{
	static const struct {
		const char *class, *name;
		uint8_t type;
		const char *want;
	} cases[] = {
		{ NULL, "f", USER, "f" },
		{ "A\\B", "g", USER, "A\\B::g" },
		{ "A", "{closure}", USER, "A::{closure}" },
		{ NULL, NULL, USER, "{main}" },
		{ NULL, NULL, EVAL, "{eval}" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(&record, cases[i].type, cases[i].class, cases[i].name);
		assert_true(php_read_code(API_8_2, &record, &code));
		assert_string_equal(code.function, cases[i].want);
		assert_string_equal(code.file, "/a/b.php");
		assert_int_equal(code.first_line, 7);
	}
}

static void class_that_a_function_no_longer_has_is_not_shown(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, USER, NULL, "f");
	put_string(record.lines, "Old", 3); /* of the record before */
	assert_true(php_read_code(API_8_2, &record, &code));
	assert_string_equal(code.function, "f");
}

static void what_is_no_function_of_a_script_has_no_name(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, INTERNAL, NULL, "strlen");
	assert_false(php_read_code(API_8_2, &record, &code));
	make(&record, USER, NULL, "f");
	assert_false(php_read_code(20990101, &record, &code));
	record.size[0] = LINE_START;
	assert_false(php_read_code(API_8_2, &record, &code));
	make(&record, USER, NULL, "f");
	record.size[1] = 0; /* the name was not read */
	assert_false(php_read_code(API_8_2, &record, &code));
}

static void lengths_that_lie_stay_in_the_record(void **state)
{
	static const uint64_t lengths[] = { 200, 300, 1ull << 62, UINT64_MAX };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		make(&record, USER, "C", "f");
		memset(record.text[0] + 24, 'x', FPL_SCRIPT_TEXT_BYTES - 24);
		memset(record.lines + 24, 'y', sizeof(record.lines) - 24);
		record.nr_lines = (uint32_t)sizeof(record.lines);
		memcpy(record.text[0] + 16, &lengths[i], sizeof(lengths[i]));
		memcpy(record.lines + 16, &lengths[i], sizeof(lengths[i]));
		assert_true(php_read_code(API_8_2, &record, &code));
		assert_int_equal(strspn(code.function, "y"), lengths[i] < FPL_SCRIPT_TEXT_BYTES
								     ? lengths[i]
								     : FPL_SCRIPT_TEXT_BYTES - 1);
		assert_int_equal(strlen(strrchr(code.function, ':') + 1),
				 lengths[i] < 232 ? lengths[i] : 232);
	}
}

static void rule_is_that_of_known_builds(void **state)
{
	const struct script_facts facts = {
		.version = API_8_2,
		.language = SCRIPT_PHP,
		.ranges = { { 0x5000, 0x6000 }, { 0x2000, 0x2100 } },
		.nr_ranges = 2,
		.cfa_off = 160,
		.cfa_reg = 7,
	};
	struct script_facts other = facts;
	struct fpl_script_rule rule;
	char version[SCRIPT_VERSION_MAX];

	(void)state;
	assert_true(php_language.rule(&facts, 9, &rule));
	assert_int_equal(rule.object, 9);
	/* handlers may be in each part of the loop */
	assert_int_equal(rule.check_vaddr, 0x2000);
	assert_int_equal(rule.check_size, 0x4000);
	php_language.say_version(&facts, version);
	assert_string_equal(version, "PHP 8.2");
	assert_non_null(php_layout(20190902));
	assert_non_null(php_layout(20240924));
	assert_int_equal(php_language.line(NULL, 12), 12);
	assert_int_equal(php_language.line(NULL, FPL_SCRIPT_NO_PLACE), 0);

	other.flags = SCRIPT_FREE_THREADED;
	assert_false(php_language.rule(&other, 9, &rule));
	php_language.say_version(&other, version);
	assert_string_equal(version, "PHP 8.2, for threads");
	other = facts;
	other.version = 20990101;
	assert_false(php_language.rule(&other, 9, &rule));
	php_language.say_version(&other, version);
	assert_string_equal(version, "PHP of API 20990101");
	other = facts;
	other.nr_ranges = 0;
	assert_false(php_language.rule(&other, 9, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_has_the_class),
		cmocka_unit_test(class_that_a_function_no_longer_has_is_not_shown),
		cmocka_unit_test(what_is_no_function_of_a_script_has_no_name),
		cmocka_unit_test(lengths_that_lie_stay_in_the_record),
		cmocka_unit_test(rule_is_that_of_known_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
