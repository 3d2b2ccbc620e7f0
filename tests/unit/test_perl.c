/* SPDX-License-Identifier: Apache-2.0 */
/* Subs and statements of Perl from bytes of their memory, and the rule of its loop. */
#include <string.h>

#include "cmocka_all.h"

#include "base/cleanup.h"
#include "script/perl.h"

#define VERSION (3768ull << 32 | 53600u)

static uint8_t *text_of(struct fpl_script_code *record, uint32_t i)
{
	return i < FPL_SCRIPT_TEXTS
		       ? record->text[i]
		       : record->lines + (size_t)(i - FPL_SCRIPT_TEXTS) * FPL_SCRIPT_TEXT_BYTES;
}

static void put_name(struct fpl_script_code *record, uint32_t i, const char *name)
{
	uint32_t length = (uint32_t)strlen(name);

	memcpy(text_of(record, i) + PERL_LENGTH_OFF, &length, sizeof(length));
	memcpy(text_of(record, i) + PERL_KEY_OFF, name, length);
}

static void put_file(struct fpl_script_code *record, uint32_t i, const char *file)
{
	memcpy(text_of(record, i), file, strlen(file) + 1);
}

/* A sub that a glob names, if not @flags say another thing; or what runs at a statement. */
static void make(struct fpl_script_code *ret, uint32_t flags)
{
	*ret = (struct fpl_script_code){ .code = 0x7f0000001000ull,
					 .size = { 256, 256, 256 },
					 .nr_lines = FPL_SCRIPT_MORE_BYTES };
	memcpy(ret->object + PERL_FLAGS_OFF, &flags, sizeof(flags));
	put_name(ret, PERL_NAME, "named");
	put_name(ret, PERL_PACKAGE, "Compiled");
	put_name(ret, PERL_GLOB_NAME, "work");
	put_name(ret, PERL_GLOB_PACKAGE, "A::B");
	put_file(ret, PERL_FILE, "/a/b.pm");
	put_file(ret, PERL_STATEMENT_FILE, "/a/main.pl");
}

static void sub_is_named_with_its_package(void **state)
{
	static const struct {
		uint32_t flags;
		const char *function;
	} cases[] = {
		{ 0, "A::B::work" },
		{ PERL_IS_NAMED, "Compiled::named" },
		{ PERL_IS_NAMED | PERL_IS_LEXICAL, "named" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&record, cases[i].flags);
		assert_true(perl_read_code(VERSION, &record, &code));
		assert_string_equal(code.function, cases[i].function);
		assert_string_equal(code.file, "/a/b.pm");
		assert_int_equal(code.first_line, 0);
	}
}

static void statement_is_named_by_what_runs_it(void **state)
{
	static const struct {
		uint64_t is;
		const char *in, *function, *file;
	} cases[] = {
		{ FPL_SCRIPT_IS_LAST, "/a/main.pl", "(main)", "/a/main.pl" },
		{ FPL_SCRIPT_IS_LAST, "-e", "(main)", "-e" },
		{ 0, "(eval 17)", "(eval)", "(eval)" },
		{ 0, "(eval 17", "(require)", "(eval 17" },
		{ 0, "(eval 17)[b.pl:3]", "(require)", "(eval 17)[b.pl:3]" },
		{ 0, "(eval )x", "(require)", "(eval )x" },
		{ 0, "/a/b.pm", "(require)", "/a/b.pm" },
	};
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&record, 0);
		record.code |= FPL_SCRIPT_IS_PLACE | cases[i].is;
		put_file(&record, PERL_STATEMENT_FILE, cases[i].in);
		assert_true(perl_read_code(VERSION, &record, &code));
		assert_string_equal(code.function, cases[i].function);
		assert_string_equal(code.file, cases[i].file);
	}
}

static void place_is_the_line(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, 0);
	assert_true(perl_read_code(VERSION, &record, &code));
	assert_int_equal(perl_line(&code, 42), 42);
	assert_int_equal(perl_line(&code, FPL_SCRIPT_NO_PLACE), 0);
}

static void package_with_several_names_is_left_out(void **state)
{
	const uint64_t list[] = { 0x7f0000002000ull, 0x7f0000002040ull };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, 0);
	memcpy(text_of(&record, PERL_GLOB_PACKAGE), list, sizeof(list));
	assert_true(perl_read_code(VERSION, &record, &code));
	assert_string_equal(code.function, "work");
}

static void what_is_no_sub_has_no_name(void **state)
{
	static const uint32_t lengths[] = { 0, 3, 5, 248, 247, UINT32_MAX };
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		make(&record, 0);
		memcpy(text_of(&record, PERL_GLOB_NAME) + PERL_LENGTH_OFF, &lengths[i],
		       sizeof(lengths[i]));
		assert_false(perl_read_code(VERSION, &record, &code));
	}
	make(&record, 0);
	assert_false(perl_read_code(VERSION + 200, &record, &code));
	record.size[0] = PERL_SUB_BYTES - 1;
	assert_false(perl_read_code(VERSION, &record, &code));
	make(&record, 0);
	record.nr_lines = FPL_SCRIPT_MORE_BYTES - 1;
	assert_false(perl_read_code(VERSION, &record, &code));
	make(&record, 0);
	record.code |= FPL_SCRIPT_IS_PLACE;
	put_file(&record, PERL_STATEMENT_FILE, "");
	assert_false(perl_read_code(VERSION, &record, &code));
}

static void text_without_an_end_is_cut(void **state)
{
	struct fpl_script_code record;
	struct script_code code;

	(void)state;
	make(&record, 0);
	memset(text_of(&record, PERL_FILE), 'x', FPL_SCRIPT_TEXT_BYTES);
	assert_true(perl_read_code(VERSION, &record, &code));
	assert_int_equal(strlen(code.file), FPL_SCRIPT_TEXT_BYTES);
}

static void rule_is_that_of_known_builds(void **state)
{
	static const struct {
		uint64_t size;
		uint32_t version;
		bool is_known;
		const char *said;
	} cases[] = {
		{ 3768, 53600, true, "Perl 5.36.0" },
		{ 3768, 53603, true, "Perl 5.36.3" },
		{ 3768, 54001, true, "Perl 5.40.1" },
		{ 3768, 54200, true, "Perl 5.42.0" },
		{ 3776, 53600, false, "Perl 5.36.0" },
		{ 0, 53600, false, "Perl 5.36.0, built without threads" },
		{ 3792, 53201, false, "Perl 5.32.1" },
		{ 3768, 53800, false, "Perl 5.38.0" },
	};
	struct script_facts facts = { .language = SCRIPT_PERL,
				      .ranges = { { 0x5000, 0x6000 } },
				      .nr_ranges = 1 };
	char version[SCRIPT_VERSION_MAX];
	struct fpl_script_rule rule;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		facts.version = cases[i].size << 32 | cases[i].version;
		assert_int_equal(perl_language.rule(&facts, 9, &rule), cases[i].is_known);
		perl_language.say_version(&facts, version);
		assert_string_equal(version, cases[i].said);
	}
	facts.version = VERSION;
	assert_true(perl_language.rule(&facts, 9, &rule));
	assert_int_equal(rule.object, 9);
	assert_int_equal(rule.check_vaddr, 0x5000);
	facts.nr_ranges = 0;
	assert_false(perl_language.rule(&facts, 9, &rule));
}

static void kinds_are_those_that_caller_shows(void **state)
{
	static const struct {
		uint8_t context, kind;
		const char *what;
	} cases[] = {
		{ 0x00, FPL_SCRIPT_KIND_BEGINS | FPL_SCRIPT_KIND_WAITS, "the block of a sort" },
		{ 0x02, 0, "a block" },
		{ 0x29, FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_CALLED, "a sub" },
		{ 0x19, FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_CALLED | FPL_SCRIPT_KIND_WAITS,
		  "a sub called again and again" },
		{ 0x59, FPL_SCRIPT_KIND_FRAME, "code in a regular expression" },
		{ 0xd9, 0, "the sub around it again" },
		{ 0x0a, FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_CALLED, "a format" },
		{ 0x2b, FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_PLACE | FPL_SCRIPT_KIND_CALLED,
		  "a text" },
		{ 0x4b, 0, "the block of an eval" },
		{ 0x8b, 0, "the block of a try" },
		{ 0x0c, 0, "a substitution" },
	};
	struct script_facts facts = { .version = VERSION, .nr_ranges = 1 };
	struct fpl_script_rule rule;

	(void)state;
	assert_true(perl_language.rule(&facts, 9, &rule));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (rule.records.kinds[cases[i].context] != cases[i].kind)
			fail_msg("%s: %#x", cases[i].what, rule.records.kinds[cases[i].context]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sub_is_named_with_its_package),
		cmocka_unit_test(statement_is_named_by_what_runs_it),
		cmocka_unit_test(place_is_the_line),
		cmocka_unit_test(package_with_several_names_is_left_out),
		cmocka_unit_test(what_is_no_sub_has_no_name),
		cmocka_unit_test(text_without_an_end_is_cut),
		cmocka_unit_test(rule_is_that_of_known_builds),
		cmocka_unit_test(kinds_are_those_that_caller_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
