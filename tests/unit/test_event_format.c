/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/event_format.h"

#define COMMON                                                                 \
	"name: x\nID: 1\nformat:\n"                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct event_format parse(const char *text, const char *category)
{
	struct event_format format;
	struct fpl_err err = { 0 };

	if (event_format_parse(text, category, &format, &err))
		fail_msg("%s", err.msg);
	return format;
}

static const struct {
	const char *what, *category, *line, *name;
	struct fpl_field want;
} kinds[] = {
	{ "signed",
	  "sched",
	  "field:int x;\toffset:8;\tsize:4;\tsigned:1;",
	  "x",
	  { .off = 8, .size = 4, .kind = FPL_FIELD_SIGNED } },
	{ "unsigned",
	  "kmem",
	  "field:unsigned long ptr;\toffset:16;\tsize:8;\tsigned:0;",
	  "ptr",
	  { .off = 16, .size = 8, .kind = FPL_FIELD_UNSIGNED } },
	{ "a text in the record",
	  "sched",
	  "field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;",
	  "prev_comm",
	  { .off = 8, .size = 16, .kind = FPL_FIELD_TEXT } },
	{ "bytes",
	  "btrfs",
	  "field:u8 fsid[16];\toffset:8;\tsize:16;\tsigned:0;",
	  "fsid",
	  { .off = 8, .size = 16, .kind = FPL_FIELD_NONE } },
	{ "a text that varies",
	  "sched",
	  "field:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;",
	  "filename",
	  { .off = 8, .size = 4, .kind = FPL_FIELD_TEXT_LOC } },
	{ "a text behind the field",
	  "dma",
	  "field:__rel_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;",
	  "name",
	  { .off = 8, .size = 4, .kind = FPL_FIELD_TEXT_REL } },
	{ "numbers that vary",
	  "x",
	  "field:__data_loc u32[] list;\toffset:8;\tsize:4;\tsigned:0;",
	  "list",
	  { .off = 8, .size = 4, .kind = FPL_FIELD_NONE } },
	{ "a text elsewhere",
	  "irq",
	  "field:const char * name;\toffset:16;\tsize:8;\tsigned:0;",
	  "name",
	  { .off = 16, .size = 8, .kind = FPL_FIELD_TEXT_KERNEL } },
	{ "a text of the process",
	  "syscalls",
	  "field:const char * filename;\toffset:24;\tsize:8;\tsigned:0;",
	  "filename",
	  { .off = 24, .size = 8, .kind = FPL_FIELD_TEXT_USER } },
	{ "texts of the process",
	  "syscalls",
	  "field:const char *const * argv;\toffset:24;\tsize:8;\tsigned:0;",
	  "argv",
	  { .off = 24, .size = 8, .kind = FPL_FIELD_UNSIGNED } },
	{ "an argument of 4 bytes",
	  "syscalls",
	  "field:int dfd;\toffset:16;\tsize:8;\tsigned:0;",
	  "dfd",
	  { .off = 16, .size = 4, .kind = FPL_FIELD_SIGNED } },
	{ "an argument of 8 bytes",
	  "syscalls",
	  "field:size_t count;\toffset:32;\tsize:8;\tsigned:0;",
	  "count",
	  { .off = 32, .size = 8, .kind = FPL_FIELD_UNSIGNED } },
	{ "a result",
	  "syscalls",
	  "field:long ret;\toffset:16;\tsize:8;\tsigned:1;",
	  "ret",
	  { .off = 16, .size = 8, .kind = FPL_FIELD_SIGNED } },
	{ "a structure",
	  "x",
	  "field:struct y z;\toffset:8;\tsize:24;\tsigned:0;",
	  "z",
	  { .off = 8, .size = 24, .kind = FPL_FIELD_NONE } },
};

static void fields_are_numbers_or_texts_by_their_declaration(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char text[1024];

		snprintf(text, sizeof(text), COMMON "\t%s\n\nprint fmt: \"field:int no;\"\n",
			 kinds[i].line);

		CLEANUP(event_format_fini)
		struct event_format format = parse(text, kinds[i].category);

		print_message("%s\n", kinds[i].what);
		assert_int_equal(format.nr, 1);
		assert_string_equal(format.fields[0].name, kinds[i].name);
		assert_int_equal(format.fields[0].field.off, kinds[i].want.off);
		assert_int_equal(format.fields[0].field.size, kinds[i].want.size);
		assert_int_equal(format.fields[0].field.kind, kinds[i].want.kind);
		assert_ptr_equal(event_format_find(&format, kinds[i].name, strlen(kinds[i].name)),
				 &format.fields[0]);
		assert_null(event_format_find(&format, "common_pid", strlen("common_pid")));
	}
}

static void a_text_is_found_in_the_words_of_bpftrace_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool is_text = kinds[i].want.kind >= FPL_FIELD_TEXT;
		char text[1024], word[64];

		snprintf(text, sizeof(text), COMMON "\t%s\n\n", kinds[i].line);
		snprintf(word, sizeof(word), "str(%s)", kinds[i].name);

		CLEANUP(event_format_fini)
		struct event_format format = parse(text, kinds[i].category);

		assert_ptr_equal(event_format_find(&format, word, strlen(word)),
				 is_text ? &format.fields[0] : NULL);
		assert_null(event_format_find(&format, word, strlen(word) - 1));
		assert_null(event_format_find(&format, "str()", strlen("str()")));
	}
}

static void what_is_no_field_is_refused(void **state)
{
	static const char *const lines[] = {
		"field:",
		"field:int;\toffset:8;\tsize:4;\tsigned:1;",
		"field:int x\toffset:8\tsize:4\tsigned:1",
		"field:int x;\tsize:4;\tsigned:1;",
		"field:int x;\toffset:8;\tsize:99999;\tsigned:1;",
		"field:int x;\toffset:-8;\tsize:4;\tsigned:1;",
		"field:int [4];\toffset:8;\tsize:16;\tsigned:1;",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct event_format format;
		struct fpl_err err = { 0 };

		assert_int_equal(event_format_parse(lines[i], "x", &format, &err), -EINVAL);
		assert_non_null(strstr(err.msg, ": no field"));
	}
}

static void no_more_fields_than_there_is_room_for(void **state)
{
	static char text[EVENT_FIELDS_MAX * 64 + 128];
	size_t len = 0;
	struct event_format format;
	struct fpl_err err = { 0 };

	(void)state;
	for (unsigned i = 0; i <= EVENT_FIELDS_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"\tfield:int x%u;\toffset:8;\tsize:4;\tsigned:1;\n", i);
	assert_int_equal(event_format_parse(text, "x", &format, &err), -EINVAL);
	assert_string_equal(err.msg, "more than 128 fields");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_numbers_or_texts_by_their_declaration),
		cmocka_unit_test(a_text_is_found_in_the_words_of_bpftrace_too),
		cmocka_unit_test(what_is_no_field_is_refused),
		cmocka_unit_test(no_more_fields_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
