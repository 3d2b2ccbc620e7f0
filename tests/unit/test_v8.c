/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of V8 from their records, and the rule of its frames. */
#include <string.h>

#include "cmocka_all.h"

#include "base/cleanup.h"
#include "script/v8.h"

static const struct script_facts facts = {
	.version = 1,
	.language = SCRIPT_JAVASCRIPT,
	.nr_ranges = 1,
	.ranges = { { 0x1000, 0x1200 } },
	.v8 = { .function_off = -16,
		.context_off = -8,
		.shared_off = 24,
		.first_function = 2066,
		.last_function = 2096,
		.objects = { .type_off = 12, .name_off = 16 } },
};

static void make(struct fpl_script_code *ret, const void *name, size_t size, bool is_wide)
{
	*ret = (struct fpl_script_code){ .size = { 8, (uint16_t)size, 8 },
					 .line = 7,
					 .wide = is_wide };
	memcpy(ret->text[0], name, size);
	memcpy(ret->text[1], "/a/b.mjs", 8);
}

static void names_are_utf_8_whatever_v8_keeps_them_in(void **state)
{
	static const struct {
		const char *what;
		struct {
			uint8_t nr;
			char bytes[8];
		} name;
		bool is_wide;
		const char *want;
	} cases[] = {
		{ "ASCII", { 3, "fib" }, false, "fib" },
		{ "Latin-1",
		  { 2, "\xfc"
		       "n" },
		  false,
		  "\xc3\xbcn" },
		{ "UTF-16", { 4, "\x78\0\x21\x4e" }, true, "x\xe4\xb8\xa1" },
		{ "a pair of surrogates", { 4, "\x3d\xd8\x00\xde" }, true, "\xf0\x9f\x98\x80" },
		{ "half a pair", { 4, "\x3d\xd8\x78\0" }, true, "\xef\xbf\xbdx" },
		{ "half a pair at the end", { 2, "\x3d\xd8" }, true, "\xef\xbf\xbd" },
		{ "the second half alone", { 2, "\x00\xde" }, true, "\xef\xbf\xbd" },
		{ "half a character at the end", { 3, "\x78\0\x79" }, true, "x" },
		{ "a NUL within", { 3, "a\0b" }, false, "a" },
		{ "none", { 0, "" }, false, "(anonymous)" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&record, cases[i].name.bytes, cases[i].name.nr, cases[i].is_wide);
		assert_true(v8_language.read_code(1, &record, &code));
		if (strcmp(code.function, cases[i].want) != 0)
			fail_msg("%s: %s", cases[i].what, code.function);
		assert_string_equal(code.file, "/a/b.mjs");
		assert_int_equal(v8_language.line(&code, FPL_SCRIPT_NO_PLACE), 7);
	}
}

static void longest_names_fit(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, "", 0, false);
	memset(record.text[0], 0xfc, sizeof(record.text[0]));
	record.size[1] = sizeof(record.text[0]);
	assert_true(v8_language.read_code(1, &record, &code));
	assert_int_equal(strlen(code.function), 2 * sizeof(record.text[0]));
	memset(record.text[0], 0x4e, sizeof(record.text[0]));
	record.wide = 1;
	assert_true(v8_language.read_code(1, &record, &code));
	assert_int_equal(strlen(code.function), 3 * sizeof(record.text[0]) / 2);
}

static void file_of_a_module_is_a_path(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "file:///a/b.mjs", "/a/b.mjs" },
		{ "file://host/a", "file://host/a" },
		{ "node:fs", "node:fs" },
		{ "", "" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&record, "f", 1, false);
		record.size[2] = (uint16_t)strlen(cases[i].name);
		memcpy(record.text[1], cases[i].name, strlen(cases[i].name));
		assert_true(v8_language.read_code(1, &record, &code));
		assert_string_equal(code.file, cases[i].want);
	}
}

static void records_that_lie_have_no_name(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, "f", 1, false);
	record.size[0] = 0; /* no function was found */
	assert_false(v8_language.read_code(1, &record, &code));
	for (size_t i = 1; i <= 2; i++) {
		make(&record, "f", 1, false);
		record.size[i] = FPL_SCRIPT_TEXT_BYTES + 1;
		assert_false(v8_language.read_code(1, &record, &code));
	}
	make(&record, "f", 1, false);
	record.line = UINT32_MAX;
	assert_true(v8_language.read_code(1, &record, &code));
	assert_int_equal(code.first_line, 0);
}

static void rule_leads_from_the_frame_pointer_to_the_function(void **state)
{
	struct script_facts unknown = facts;
	struct fpl_script_rule rule;

	(void)state;
	assert_true(v8_language.rule(&facts, 3, &rule));
	assert_int_equal(rule.object, 3);
	assert_true(rule.is_native);
	assert_int_equal(rule.start[0], 0x1000);
	assert_int_equal(rule.check_vaddr, 2066);
	assert_int_equal(rule.check_size, 31);
	assert_int_equal(rule.check.off[0], -16);
	assert_int_equal(rule.check.off[2], 12);
	assert_int_equal(rule.code.off[0], -16);
	assert_int_equal(rule.code.off[1], 24);
	assert_int_equal(rule.stop.off[0], -8);
	unknown.version = 0;
	assert_false(v8_language.rule(&unknown, 3, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_utf_8_whatever_v8_keeps_them_in),
		cmocka_unit_test(longest_names_fit),
		cmocka_unit_test(file_of_a_module_is_a_path),
		cmocka_unit_test(records_that_lie_have_no_name),
		cmocka_unit_test(rule_leads_from_the_frame_pointer_to_the_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
