/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "annotate/hot_code.h"
#include "base/cleanup.h"

static uint32_t text(struct recording *recording, const char *words)
{
	uint32_t ret;

	assert_int_equal(recording_add_text(recording, words, &ret), 0);
	return ret;
}

static uint32_t object(struct recording *recording, const char *path, const char *build_id)
{
	uint32_t ret;
	struct recording_object key = { .path = text(recording, path),
					.build_id = text(recording, build_id) };

	assert_int_equal(recording_add_object(recording, &key, &ret), 0);
	return ret;
}

/* A frame of function @name, which starts at 0x1000. */
static uint32_t frame(struct recording *recording, uint32_t in, const char *name, uint64_t address,
		      bool exact)
{
	struct recording_function function = { .name = text(recording, name) };
	struct recording_line line = { .line = 0 };
	struct recording_frame key = { .address = address,
				       .start = 0x1000,
				       .object = in,
				       .nr_lines = 1,
				       .origin = RECORDING_NO_ORIGIN,
				       .exact = exact };
	uint32_t ret;

	assert_int_equal(recording_add_function(recording, &function, &line.function), 0);
	assert_int_equal(recording_add_frame(recording, &key, &line, &ret), 0);
	return ret;
}

static void stack(struct recording *recording, uint64_t count, uint16_t nr_user, uint16_t nr_kernel,
		  const uint32_t *frames)
{
	struct recording_stack key = { .count = count,
				       .nr_user = nr_user,
				       .nr_kernel = nr_kernel,
				       .stop = RECORDING_NO_STOP };

	assert_int_equal(recording_add_stack(recording, &key, frames, NULL), 0);
}

/* A frame that is a word: of no object, and of no address. */
static uint32_t word(struct recording *recording, const char *name)
{
	return frame(recording, 0, name, RECORDING_NO_ADDRESS, false);
}

static void a_wait_is_where_its_own_thread_waited(void **state)
{
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(hot_code_fini) struct hot_code code = { .nr = 0 };
	uint32_t here;

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	here = object(&recording, "/bin/a", "aa");

	uint32_t frames[] = {
		word(&recording, "[thread b]"),
		frame(&recording, here, "unlock", 0x2010, true),
		word(&recording, RECORDING_DELIMITER),
		frame(&recording, here, "wait", 0x1010, true),
	};

	stack(&recording, 3, 4, 0, frames);
	hot_code_find(&recording, &code);
	assert_int_equal(code.nr, 1);
	assert_string_equal(code.functions[0].name, "wait");
	assert_int_equal(code.functions[0].samples, 3);
	assert_int_equal(code.without, 0);
}

static void samples_are_those_of_leaves_by_pc(void **state)
{
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(hot_code_fini) struct hot_code code = { .nr = 0 };
	uint32_t here, moved, other;

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	here = object(&recording, "/bin/a", "aa");
	moved = object(&recording, "/mnt/bin/a", "aa");
	other = object(&recording, "/bin/b", "bb");

	uint32_t frames[] = {
		frame(&recording, here, "work", 0x1010, true),
		frame(&recording, moved, "work", 0x1010, true),
		frame(&recording, here, "work", 0x1009, false), /* the call ends there */
		frame(&recording, other, "work", 0x1010, true),
		frame(&recording, here, "work", RECORDING_NO_ADDRESS, true),
	};

	stack(&recording, 3, 1, 0, &frames[0]);
	stack(&recording, 4, 1, 0, &frames[1]);
	stack(&recording, 5, 2, 0, (const uint32_t[]){ frames[2], frames[3] });
	stack(&recording, 40, 1, 1, (const uint32_t[]){ frames[3], frames[0] });
	stack(&recording, 20, 1, 0, &frames[3]);
	stack(&recording, 2, 1, 0, &frames[4]);
	stack(&recording, 9, 0, 0, frames);

	hot_code_find(&recording, &code);
	assert_int_equal(code.samples, 83);
	assert_int_equal(code.without, 2);
	assert_int_equal(code.nr, 2);
	assert_int_equal(code.functions[0].object, other);
	assert_int_equal(code.functions[0].samples, 20);
	assert_string_equal(code.functions[1].name, "work");
	assert_int_equal(code.functions[1].samples, 12);
	assert_int_equal(code.functions[1].start, 0x1000);
	assert_int_equal(code.functions[1].nr_pcs, 2);

	const struct hot_pc *pcs = &code.pcs[code.functions[1].first_pc];

	assert_int_equal(pcs[0].pc, 0x1008);
	assert_int_equal(pcs[0].samples, 5);
	assert_int_equal(pcs[1].pc, 0x1010);
	assert_int_equal(pcs[1].samples, 7);

	/* stacks lead to the pcs that their samples are counted at */
	static const uint64_t pc_of_stacks[] = { 0x1010, 0x1010, 0x1008, 0, 0x1010, 0, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(pc_of_stacks); i++) {
		uint32_t pc = hot_code_pc(&code, &recording, &recording.stacks[i]);

		assert_int_equal(pc == HOT_CODE_NO_PC ? 0 : code.pcs[pc].pc, pc_of_stacks[i]);
		assert_int_equal(pc == code.functions[0].first_pc, i == 4);
	}
}

static void code_without_name_and_start_is_its_pc(void **state)
{
	CLEANUP(recording_fini) struct recording recording;
	CLEANUP(hot_code_fini) struct hot_code code = { .nr = 0 };
	struct recording_frame key = { .start = RECORDING_NO_ADDRESS,
				       .origin = RECORDING_NO_ORIGIN,
				       .exact = true };

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	key.object = object(&recording, "/bin/a", "aa");
	for (uint64_t i = 0; i < 2; i++) {
		uint32_t id;

		key.address = 0x1000 + i;
		assert_int_equal(recording_add_frame(&recording, &key, NULL, &id), 0);
		stack(&recording, 2 - i, 1, 0, &id);
	}
	hot_code_find(&recording, &code);
	assert_int_equal(code.nr, 2);
	assert_string_equal(code.functions[0].name, "[a+0x1000]");
	assert_string_equal(code.functions[1].name, "[a+0x1001]");
}

static void functions_are_called_by_whole_and_by_plain_names(void **state)
{
	static const struct {
		const char *function, *name;
		enum hot_match match;
	} cases[] = {
		{ "main", "main", HOT_MATCH_NAME },
		{ "main", "mai", HOT_MATCH_NONE },
		{ "main", "ain", HOT_MATCH_NONE },
		{ "main", "", HOT_MATCH_NONE },
		{ "app::run(int)", "app::run(int)", HOT_MATCH_NAME },
		{ "app::run(int)", "app::run", HOT_MATCH_PLAIN },
		{ "app::run(int)", "run", HOT_MATCH_PLAIN },
		{ "app::run(int)", "pp::run", HOT_MATCH_NONE },
		{ "app::run(int)", "un", HOT_MATCH_NONE },
		{ "app::run(int)", "app", HOT_MATCH_NONE },
		{ "map<a::b, c>::find(a::b)", "find", HOT_MATCH_PLAIN },
		{ "map<a::b, c>::find(a::b)", "map<a::b, c>::find", HOT_MATCH_PLAIN },
		{ "a::(anonymous namespace)::f(int)", "f", HOT_MATCH_PLAIN },
		{ "x::operator()(int)", "operator()", HOT_MATCH_PLAIN },
		{ "main.(*T).run", "main.(*T).run", HOT_MATCH_NAME },
		{ "core::iter::next", "iter::next", HOT_MATCH_PLAIN },
		{ "[prog+0x1000]", "[prog+0x1000]", HOT_MATCH_NAME },
		{ "::", "", HOT_MATCH_PLAIN },
		{ "", "", HOT_MATCH_NAME },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s, called %s\n", cases[i].function, cases[i].name);
		assert_int_equal(hot_match(cases[i].function, cases[i].name), cases[i].match);
	}
}

static void weights_are_added_up_where_they_are_shown(void **state)
{
	static const struct {
		const char *what;
		uint64_t hz;
		bool by_count;
		uint64_t samples;
	} cases[] = {
		{ "bytes", 0, false, 4096 },
		{ "bytes, by their samples", 0, true, 3 },
		{ "a clock", 99, false, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording recording;
		CLEANUP(hot_code_fini) struct hot_code code = { .nr = 0 };
		struct recording_stack key = {
			.count = 3, .weight = 4096, .nr_user = 1, .stop = RECORDING_NO_STOP
		};

		assert_int_equal(recording_init(&recording), 0);
		recording.hz = cases[i].hz;
		recording.by_count = cases[i].by_count;
		recording.weight_type = text(&recording, "alloc_space");
		recording.weight_unit = text(&recording, "bytes");

		uint32_t leaf =
			frame(&recording, object(&recording, "/bin/a", "aa"), "work", 0x1010, true);

		assert_int_equal(recording_add_stack(&recording, &key, &leaf, NULL), 0);
		hot_code_find(&recording, &code);
		assert_int_equal(code.nr, 1);
		if (code.samples != cases[i].samples ||
		    code.functions[0].samples != cases[i].samples ||
		    code.pcs[0].samples != cases[i].samples)
			fail_msg("%s: %llu", cases[i].what, (unsigned long long)code.samples);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_where_its_own_thread_waited),
		cmocka_unit_test(samples_are_those_of_leaves_by_pc),
		cmocka_unit_test(code_without_name_and_start_is_its_pc),
		cmocka_unit_test(weights_are_added_up_where_they_are_shown),
		cmocka_unit_test(functions_are_called_by_whole_and_by_plain_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
