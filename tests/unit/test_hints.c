/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/stats.h"
#include "report/hints.h"

#define FRAME(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define RAW(addr)	     (FPL_FRAME_RAW | (addr))

enum { APP = 1, JVM, NR_OBJECTS = 2 };

static struct profile_object objects[NR_OBJECTS] = {
	{ .id = APP, .path = "/usr/bin/a\033pp", .build_id = "" },
	{ .id = JVM, .path = "/usr/lib/jvm/server/libjvm.so", .build_id = "" },
};

static uint64_t in_app[] = { FRAME(APP, 0x10), FRAME(APP, 0x1000) };
static uint64_t elsewhere_in_app[] = { FRAME(APP, 0x2000) };
static uint64_t in_jvm[] = { FRAME(JVM, 0x30) };
static uint64_t jit_one[] = { RAW(0x7000) };
static uint64_t jit_two[] = { RAW(0x7000), RAW(0x8000) };

#define STACK(nr, stack_frames, why, process)                                               \
	{                                                                                   \
		.count = (nr), .frames = (stack_frames), .stop = FPL_STOP_##why,            \
		.nr_user = sizeof(stack_frames) / sizeof(*(stack_frames)), .pid = (process) \
	}

static struct profile_stack stacks[] = {
	STACK(100, in_app, OUTERMOST, 1),
	STACK(7, in_app, NO_CFI, 1),
	STACK(5, in_app, NO_CFI, 2), /* another process, the same place */
	STACK(4, in_app, BAD_RA, 1), /* for another reason */
	STACK(40, elsewhere_in_app, EXITING, 1),
	STACK(41, elsewhere_in_app, EXECING, 1),
	STACK(3, elsewhere_in_app, READ_FAULT, 1),
	STACK(20, jit_one, NO_CFI, 9), /* of pid 9 something else tells that it is java */
	STACK(10, jit_two, NO_CFI, 9),
	STACK(9, in_jvm, OUTERMOST, 9),
	STACK(2, jit_one, NO_CFI, 1), /* of unknown origin */
	{ .count = 6, .stop = FPL_STOP_NO_USER_REGS, .pid = 1 },
	{ .count = 50, .stop = FPL_STOP_NO_CFI, .pid = 2, .flags = FPL_SAMPLE_KTHREAD },
};

static struct profile profile = {
	.user = true,
	.objects = objects,
	.nr_objects = NR_OBJECTS,
	.stacks = stacks,
	.nr_stacks = sizeof(stacks) / sizeof(*stacks),
};

static struct namer *namer;

static int setup(void **state)
{
	(void)state;
	return namer_create(&(struct namer_options){ .parser = NULL }, &namer, NULL);
}

static int teardown(void **state)
{
	(void)state;
	namer_destroy(namer);
	return 0;
}

/* The hints on @of as text, or as JSON; the caller frees it. */
static char *render(const struct profile *of, bool as_json)
{
	struct hints hints;
	struct names names;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	names_init(&names, of, namer, &(struct names_options){ .by_function = true });
	hints_find(&names, &hints);
	if (as_json) {
		struct recording recording;

		assert_int_equal(recording_init(&recording), 0);
		hints_add_numbers(&recording, &hints);
		stats_write(to, &recording, 0);
		recording_fini(&recording);
	} else {
		hints_write(to, &hints);
	}
	fclose(to);
	names_fini(&names);
	return text;
}

static void places_are_told_apart_by_function_reason_and_run_time(void **state)
{
	AUTO_FREE char *text = render(&profile, false);

	(void)state;
	assert_string_equal(
		text,
		"  cut short    57 of 166 user stacks (34.34 %), most of them in\n"
		"            30 no_cfi        code without a name  (made at run time by java)\n"
		"               start java with -XX:+PreserveFramePointer: compiled code is then "
		"walked\n"
		"            12 no_cfi        [a\\x1bpp+0x1000]  (a\\x1bpp)\n"
		"               no CFI, and no row could be made from its instructions: build with "
		"-fasynchronous-unwind-tables; assembly needs CFI directives\n"
		"             6 no_user_regs  without a frame\n"
		"             4 bad_ra        [a\\x1bpp+0x1000]  (a\\x1bpp)\n"
		"               no return address was where one should be: its CFI is wrong there, "
		"or"
		" there is none\n"
		"             3 read_fault    [a\\x1bpp+0x2000]  (a\\x1bpp)\n"
		"               stack memory was not there, or between the two ends that the "
		"snapshot of a sample has that came before its tables: run longer, or again: "
		"tables are kept\n"
		"             2 in 1 other places\n");
}

static void one_line_says_where_most_walks_end(void **state)
{
	struct hints hints;
	struct names names;
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	names_init(&names, &profile, namer, &(struct names_options){ .by_function = true });
	hints_find(&names, &hints);
	hints_write_most(to, &hints);
	fclose(to);
	names_fini(&names);
	assert_string_equal(text,
			    "  cut short    34.3 % of the stacks, most of them in code without "
			    "a name (made at run time by java, no_cfi): start java with "
			    "-XX:+PreserveFramePointer: compiled code is then walked\n");
}

static void the_json_says_the_same(void **state)
{
	static const char begin[] =
		"\"incomplete\":{\"samples\":57,\"places\":6,\"most\":[{\"samples\":30,"
		"\"stop\":\"no_cfi\",\"function\":\"code without a name\",\"object\":null,"
		"\"advice\":\"start java with -XX:+PreserveFramePointer: compiled code is then "
		"walked\"},{\"samples\":12,"
		"\"stop\":\"no_cfi\",\"function\":\"[a\\\\x1bpp+0x1000]\","
		"\"object\":\"/usr/bin/a\\u001bpp\",\"advice\":\"no CFI";
	AUTO_FREE char *text = render(&profile, true);

	(void)state;
	assert_non_null(strstr(text, begin));
	assert_non_null(strstr(text, "{\"samples\":6,\"stop\":\"no_user_regs\",\"function\":null,"
				     "\"object\":null,\"advice\":null}"));
}

/* Code of a file that was not opened is at addresses, too. */
static void files_without_room_are_not_blamed_on_frame_pointers(void **state)
{
	struct profile some = profile;
	AUTO_FREE char *text = NULL;

	(void)state;
	some.stacks = &stacks[10];
	some.nr_stacks = 1;
	some.refused[PROFILE_LIMIT_FILES] = 1;
	text = render(&some, false);
	assert_non_null(strstr(text, "(made at run time, or in a file not opened)\n"
				     "               files were not opened for want of room"));
	assert_null(strstr(text, "keeps no frame pointer"));
}

static void nothing_is_said_where_all_is_complete_or_nothing_was_asked(void **state)
{
	struct profile complete = profile, kernel_only = profile;
	AUTO_FREE char *first = NULL, *second = NULL, *json = NULL;

	(void)state;
	complete.nr_stacks = 1;
	kernel_only.user = false;
	first = render(&complete, false);
	second = render(&kernel_only, false);
	json = render(&complete, true);
	assert_string_equal(first, "");
	assert_string_equal(second, "");
	assert_non_null(strstr(
		json, ",\"incomplete\":{\"samples\":0,\"places\":0,\"most\":[]},\"shown\":0}\n"));
}

static void run_times_are_known_by_the_names_of_their_files(void **state)
{
	static const struct {
		const char *path;
		enum runtime runtime;
	} cases[] = {
		{ "/usr/bin/node", RUNTIME_NODE },
		{ "node", RUNTIME_NODE },
		{ "/usr/bin/node2", RUNTIME_NATIVE },
		{ "/node/app", RUNTIME_NATIVE },
		{ "/x/libnode.so.108", RUNTIME_NODE },
		{ "/x/libjvm.so", RUNTIME_JAVA },
		{ "/x/beam.smp", RUNTIME_ERLANG },
		{ "/usr/bin/luajit-2.1.0", RUNTIME_LUAJIT },
		{ "/x/libluajit-5.1.so.2", RUNTIME_LUAJIT },
		{ "/x/php8.2", RUNTIME_PHP },
		{ "/x/libpypy3-c.so", RUNTIME_PYPY },
		{ "/usr/lib/sbcl/sbcl", RUNTIME_SBCL },
		{ "[vdso]", RUNTIME_NATIVE },
		{ "", RUNTIME_NATIVE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (runtime_of_path(cases[i].path) != cases[i].runtime)
			fail_msg("%s: %d", cases[i].path, (int)runtime_of_path(cases[i].path));
	}
}

static void languages_are_recognised_by_their_symbol_names(void **state)
{
	static const struct {
		const char *symbol;
		enum runtime runtime;
	} cases[] = {
		{ "runtime.goexit.abi0", RUNTIME_GO },
		{ "my.runtime.thing", RUNTIME_NATIVE },
		{ "runtime", RUNTIME_NATIVE },
		{ "Main_zdwfib_info", RUNTIME_GHC },
		{ "base_GHCziBase_map_info", RUNTIME_GHC },
		{ "stg_upd_frame_info", RUNTIME_GHC },
		{ "Main_main1_info", RUNTIME_GHC },
		{ "print_info", RUNTIME_NATIVE },
		{ "get_size_info", RUNTIME_NATIVE },
		{ "_info", RUNTIME_NATIVE },
		{ "zifib_information", RUNTIME_NATIVE },
		{ "", RUNTIME_NATIVE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (runtime_of_symbol(cases[i].symbol) != cases[i].runtime)
			fail_msg("%s", cases[i].symbol);
	}
}

static void every_walk_that_ends_in_code_has_advice(void **state)
{
	static const enum fpl_stop without[] = { FPL_STOP_OUTERMOST, FPL_STOP_NO_USER_REGS,
						 FPL_STOP_EXITING, FPL_STOP_EXECING,
						 FPL_STOP_TABLE_CHANGED };

	(void)state;
	for (unsigned stop = 0; stop < FPL_STOP_COUNT; stop++) {
		bool expected = true;

		for (size_t i = 0; i < ARRAY_SIZE(without); i++)
			expected = expected && without[i] != (enum fpl_stop)stop;
		assert_int_equal(hint_advice((enum fpl_stop)stop, RUNTIME_NATIVE, false,
					     WITHOUT_NOTHING) != NULL,
				 expected);
		assert_non_null(
			hint_advice((enum fpl_stop)stop, RUNTIME_NATIVE, true, WITHOUT_NOTHING));
	}
	assert_non_null(strstr(hint_advice(FPL_STOP_NO_CFI, RUNTIME_JAVA, true, WITHOUT_NOTHING),
			       "FramePointer"));
	assert_null(strstr(hint_advice(FPL_STOP_NO_CFI, RUNTIME_JAVA, false, WITHOUT_NOTHING),
			   "FramePointer"));
}

/* Advice depends on the stop, and on the properties of the code. */
static void advice_fits_the_stop_and_the_code(void **state)
{
	static const struct {
		enum fpl_stop stop;
		enum runtime runtime;
		const char *named, *not_named;
	} cases[] = {
		{ FPL_STOP_NO_CFI, RUNTIME_NATIVE, "unwind-tables", "omit-frame-pointer" },
		{ FPL_STOP_NO_CFI, RUNTIME_NODE, "keeps a frame pointer", "omit-frame-pointer" },
		{ FPL_STOP_NO_TABLE, RUNTIME_NATIVE, "--table-memory", "--ring-memory" },
		{ FPL_STOP_NO_TABLE, RUNTIME_NODE, "--table-memory", "--ring-memory" },
		{ FPL_STOP_BURST, RUNTIME_NATIVE, "--ring-memory", "--table-memory" },
		{ FPL_STOP_BURST, RUNTIME_NODE, "--ring-memory", "--table-memory" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int generated = 0; generated < 2; generated++) {
			const char *text = hint_advice(cases[i].stop, cases[i].runtime, generated,
						       WITHOUT_NOTHING);

			assert_non_null(text);
			assert_null(strstr(text, cases[i].not_named));
			if (!generated || cases[i].stop != FPL_STOP_NO_CFI)
				assert_non_null(strstr(text, cases[i].named));
		}
	}
}

/* A simpler command line is advised before a rebuild. */
static void disabled_options_are_advised_first(void **state)
{
	struct profile no_synth = profile, cfi_only = profile, fp_only = profile;
	struct profile_stack of_fp[] = { STACK(3, in_app, FP_END, 1) };
	AUTO_FREE char *first = NULL, *second = NULL, *third = NULL;

	(void)state;
	no_synth.no_synth = true;
	cfi_only.cfi_only = cfi_only.no_synth = true;
	fp_only.fp_only = true;
	fp_only.stacks = of_fp;
	fp_only.nr_stacks = 1;
	first = render(&no_synth, false);
	second = render(&cfi_only, false);
	third = render(&fp_only, false);
	assert_non_null(strstr(first, "(a\\x1bpp)\n               no CFI: without --no-synth"));
	assert_non_null(strstr(first, "-XX:+PreserveFramePointer"));
	assert_non_null(strstr(second, "by java)\n               no CFI: without --unwind cfi"));
	assert_null(strstr(second, "-XX:+PreserveFramePointer"));
	assert_non_null(strstr(third, "without --unwind fp"));
	of_fp[0].frames = jit_one;
	of_fp[0].nr_user = 1;
	AUTO_FREE char *fourth = render(&fp_only, false);
	assert_non_null(strstr(fourth, "an address in no file  (made at run time, or no code)\n"
				       "               frame pointers lead no further"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_told_apart_by_function_reason_and_run_time),
		cmocka_unit_test(one_line_says_where_most_walks_end),
		cmocka_unit_test(the_json_says_the_same),
		cmocka_unit_test(files_without_room_are_not_blamed_on_frame_pointers),
		cmocka_unit_test(nothing_is_said_where_all_is_complete_or_nothing_was_asked),
		cmocka_unit_test(run_times_are_known_by_the_names_of_their_files),
		cmocka_unit_test(languages_are_recognised_by_their_symbol_names),
		cmocka_unit_test(every_walk_that_ends_in_code_has_advice),
		cmocka_unit_test(advice_fits_the_stop_and_the_code),
		cmocka_unit_test(disabled_options_are_advised_first),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
