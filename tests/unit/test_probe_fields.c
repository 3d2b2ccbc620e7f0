/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>
#include <sys/user.h>

#include "base/cleanup.h"
#include "source/event_filter.h"
#include "source/probe_fields.h"

/* The registers of ptrace(2) begin as those that programs get. */
#define OFF(member) offsetof(struct user_regs_struct, member)

static const struct {
	const char *word;
	struct fpl_field want; /* of kind NONE: the kernel side cannot read it */
} arguments[] = {
	{ "-4@%eax", { OFF(rax), 4, FPL_FIELD_SIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "8@%rax", { OFF(rax), 8, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "4@%rdi", { OFF(rdi), 4, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "2@%bp", { OFF(rbp), 2, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "-1@%sil", { OFF(rsi), 1, FPL_FIELD_SIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "1@%dh", { OFF(rdx) + 1, 1, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "8@%r15", { OFF(r15), 8, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "-4@%r8d", { OFF(r8), 4, FPL_FIELD_SIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "1@%r12b", { OFF(r12), 1, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "8@%rsp", { OFF(rsp), 8, FPL_FIELD_UNSIGNED, FPL_PLACE_RECORD, 0, 0 } },
	{ "8@-16(%rbp)", { OFF(rbp), 8, FPL_FIELD_UNSIGNED, FPL_PLACE_MEMORY, 0, -16 } },
	{ "-4@0x10(%r13)", { OFF(r13), 4, FPL_FIELD_SIGNED, FPL_PLACE_MEMORY, 0, 16 } },
	{ "8@(%rcx)", { OFF(rcx), 8, FPL_FIELD_UNSIGNED, FPL_PLACE_MEMORY, 0, 0 } },
	{ "4@$5", { 0, 4, FPL_FIELD_UNSIGNED, FPL_PLACE_CONSTANT, 0, 5 } },
	{ "-4@$-1", { 0, 4, FPL_FIELD_SIGNED, FPL_PLACE_CONSTANT, 0, -1 } },
	{ "8@$2147483648", { .kind = FPL_FIELD_NONE } },
	{ "8@2147483648(%rax)", { .kind = FPL_FIELD_NONE } },
	{ "8@name(%rip)", { .kind = FPL_FIELD_NONE } },
	{ "8@16+name(%rip)", { .kind = FPL_FIELD_NONE } },
	{ "8@16(%rip)", { .kind = FPL_FIELD_NONE } },
	{ "8@name", { .kind = FPL_FIELD_NONE } },
	{ "-4@(%rax,%rdx,4)", { .kind = FPL_FIELD_NONE } },
	{ "-4@8(%rax, %rdx, 4)", { .kind = FPL_FIELD_NONE } },
	{ "8@(%eax)", { .kind = FPL_FIELD_NONE } },
	{ "8@%fs:16", { .kind = FPL_FIELD_NONE } },
	{ "8@%eax", { .kind = FPL_FIELD_NONE } },
	{ "8f@%xmm0", { .kind = FPL_FIELD_NONE } },
	{ "16@%rax", { .kind = FPL_FIELD_NONE } },
	{ "3@%rax", { .kind = FPL_FIELD_NONE } },
	{ "%rax", { .kind = FPL_FIELD_NONE } },
	{ "8@", { .kind = FPL_FIELD_NONE } },
	{ "8@$", { .kind = FPL_FIELD_NONE } },
	{ "8@(", { .kind = FPL_FIELD_NONE } },
	{ "8@()", { .kind = FPL_FIELD_NONE } },
	{ "-", { .kind = FPL_FIELD_NONE } },
};

static void assert_field(const struct fpl_field *have, const struct fpl_field *want)
{
	assert_int_equal(have->kind, want->kind);
	if (want->kind == FPL_FIELD_NONE)
		return;
	assert_int_equal(have->off, want->off);
	assert_int_equal(have->size, want->size);
	assert_int_equal(have->place, want->place);
	assert_int_equal(have->disp, want->disp);
}

static void arguments_of_usdt_probes_are_where_their_words_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		struct event_format format;

		print_message("%s\n", arguments[i].word);
		assert_int_equal(probe_fields_of_usdt(arguments[i].word, &format, NULL), 0);
		assert_string_equal(format.fields[0].name, "arg0");
		assert_string_equal(format.fields[0].type, arguments[i].word);
		assert_field(&format.fields[0].field, &arguments[i].want);
		/* an address may be that of a text */
		assert_int_equal(format.nr, arguments[i].want.size == 8 ? 2 : 1);
		if (format.nr == 2) {
			assert_string_equal(format.fields[1].name, "str(arg0)");
			assert_int_equal(format.fields[1].field.kind, FPL_FIELD_TEXT_USER);
		}
		event_format_fini(&format);
	}
}

static void arguments_are_counted_from_0(void **state)
{
	CLEANUP(event_format_fini) struct event_format format = { 0 };

	(void)state;
	assert_int_equal(probe_fields_of_usdt("  -4@%eax 8@(%rax, %rdx)  4@$5 ", &format, NULL), 0);
	assert_int_equal(format.nr, 3);
	assert_string_equal(format.fields[1].name, "arg1");
	assert_string_equal(format.fields[1].type, "8@(%rax, %rdx)");
	assert_int_equal(format.fields[1].field.kind, FPL_FIELD_NONE);
	assert_string_equal(format.fields[2].name, "arg2");
	assert_int_equal(format.fields[2].field.disp, 5);
}

static void a_probe_has_no_more_arguments_than_there_is_room_for(void **state)
{
	char args[8 * (PROBE_ARGS_MAX + 1) + 1] = "";
	struct event_format format;
	struct fpl_err err = { 0 };

	(void)state;
	for (size_t i = 0; i <= PROBE_ARGS_MAX; i++)
		memcpy(args + 7 * i, "8@%rax ", 8);
	assert_int_equal(probe_fields_of_usdt(args, &format, &err), -EINVAL);
	assert_string_equal(err.msg, "more than 16 arguments");
	args[strlen(args) - 7] = '\0';
	assert_int_equal(probe_fields_of_usdt(args, &format, NULL), 0);
	assert_int_equal(format.nr, 2 * PROBE_ARGS_MAX);
	assert_string_equal(format.fields[31].name, "str(arg15)");
	event_format_fini(&format);
	assert_int_equal(probe_fields_of_usdt("", &format, NULL), 0);
	assert_int_equal(format.nr, 0);
	event_format_fini(&format);
}

static void functions_have_their_arguments_or_their_result(void **state)
{
	static const uint16_t offs[] = { OFF(rdi), OFF(rsi), OFF(rdx), OFF(rcx), OFF(r8), OFF(r9) };
	struct event_format format;

	(void)state;
	assert_int_equal(probe_fields_of_function(PROBE_UPROBE, &format), 0);
	assert_int_equal(format.nr, 12);
	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		assert_int_equal(format.fields[2 * i].field.off, offs[i]);
		assert_int_equal(format.fields[2 * i].field.size, 8);
		assert_int_equal(format.fields[2 * i].field.kind, FPL_FIELD_UNSIGNED);
		assert_int_equal(format.fields[2 * i + 1].field.kind, FPL_FIELD_TEXT_USER);
	}
	assert_string_equal(format.fields[10].name, "arg5");
	event_format_fini(&format);
	assert_int_equal(probe_fields_of_function(PROBE_URETPROBE, &format), 0);
	assert_int_equal(format.nr, 2);
	assert_string_equal(format.fields[0].name, "retval");
	assert_string_equal(format.fields[1].name, "str(retval)");
	assert_int_equal(format.fields[0].field.off, OFF(rax));
	event_format_fini(&format);
	assert_int_equal(probe_fields_of_function(PROBE_KPROBE, &format), 0);
	assert_int_equal(format.fields[1].field.kind, FPL_FIELD_TEXT_KERNEL);
	event_format_fini(&format);
}

static void filters_take_arguments_and_their_texts(void **state)
{
	CLEANUP(event_format_fini) struct event_format format = { 0 };
	struct fpl_source source = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(probe_fields_of_usdt("8@-16(%rbp) 8@x(%rip)", &format, NULL), 0);
	if (event_filter_compile("arg0 > 5 && str(arg0) ~ \"/etc/*\"", &format, &source, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(source.nr_tests, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(source.tests[i].field.place, FPL_PLACE_MEMORY);
		assert_int_equal(source.tests[i].field.disp, -16);
	}
	assert_int_equal(source.tests[1].field.kind, FPL_FIELD_TEXT_USER);
	assert_string_equal(source.texts[0], "/etc/*");
	assert_int_equal(event_filter_compile("arg1 > 5", &format, &source, &err), -EINVAL);
	assert_string_equal(err.msg, "column 1: arg1 is neither a number nor a text: 8@x(%rip)");
	assert_int_equal(event_filter_compile("str(arg1) > 5", &format, &source, &err), -EINVAL);
	assert_string_equal(err.msg, "column 1: no field \"str(arg1)\": there are arg0, str(arg0)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_of_usdt_probes_are_where_their_words_say),
		cmocka_unit_test(arguments_are_counted_from_0),
		cmocka_unit_test(a_probe_has_no_more_arguments_than_there_is_room_for),
		cmocka_unit_test(functions_have_their_arguments_or_their_result),
		cmocka_unit_test(filters_take_arguments_and_their_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
