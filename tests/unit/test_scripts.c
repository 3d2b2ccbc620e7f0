/* SPDX-License-Identifier: Apache-2.0 */
/* Script frames are woven into the native frames of a stack, in each mode. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "bpf/shared_region.h"
#include "profile/script_codes.h"
#include "profile/scripts.h"

#define PYTHON 3u /* objects: the interpreter */
#define MODULE 4u /* a module of it, in a file of its own */

#define AT(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define HEAD(index, nr) \
	(1ull << FPL_SCRIPT_RULE_SHIFT | (uint64_t)(index) << FPL_SCRIPT_INDEX_SHIFT | (nr))

/* Leaf first: a leaf in the interpreter; a loop with two script frames; what leads to it; a module
 * that calls back; a loop with one; the main function. */
enum { LEAF, LOOP_A, VECTOR_CALL, CALL_BACK, OBJECT_CALL, LOOP_B, MAIN, NR_NATIVE };

static const uint64_t native[NR_NATIVE] = {
	[LEAF] = AT(PYTHON, 0x9000),	    [LOOP_A] = AT(PYTHON, 0x1010),
	[VECTOR_CALL] = AT(PYTHON, 0x2000), [CALL_BACK] = AT(MODULE, 0x500),
	[OBJECT_CALL] = AT(PYTHON, 0x3000), [LOOP_B] = AT(PYTHON, 0x1020),
	[MAIN] = AT(PYTHON, 0x4000),
};

/* Two words a script frame. */
static const uint64_t words[] = {
	HEAD(LOOP_A, 2), 0x7000, 1, 0x7100, 1, HEAD(LOOP_B, 1), 0x7200, 1,
};

#define SCRIPT UINT64_MAX /* any script frame */

static const struct script_facts python = { .version = 0x030b02f0,
					    .nr_ranges = 1,
					    .language = SCRIPT_PYTHON };

static void check_stack(enum script_mode mode, const struct script_facts *facts,
			const uint64_t user[NR_NATIVE], const uint64_t *script_words,
			size_t nr_words, const uint64_t *expected, size_t nr)
{
	static struct fpl_script_rule rules[FPL_SCRIPT_RULES_MAX];
	const struct fpl_sample sample = {
		.nr_user = NR_NATIVE,
		.nr_script = (uint16_t)nr_words,
	};
	const struct script_options options = { .mode = mode };
	struct script_codes *codes;
	struct scripts *scripts;
	const uint64_t *woven;
	uint16_t nr_woven;

	assert_int_equal(scripts_create(rules, &options, &scripts), 0);
	assert_int_equal(script_codes_create(1 << 20, false, &codes), 0);
	assert_int_equal(scripts_rule(scripts, PYTHON, "python", facts), 1);
	woven = scripts_weave(scripts, codes, &sample, user, script_words, &nr_woven);
	assert_int_equal(nr_woven, nr);
	for (size_t i = 0; i < nr; i++) {
		if (expected[i] == SCRIPT)
			assert_true(fpl_frame_is_script(woven[i]));
		else
			assert_int_equal(woven[i], expected[i]);
	}
	script_codes_put(codes);
	scripts_destroy(scripts);
}

static void check_words(enum script_mode mode, const struct script_facts *facts,
			const uint64_t *script_words, size_t nr_words, const uint64_t *expected,
			size_t nr)
{
	check_stack(mode, facts, native, script_words, nr_words, expected, nr);
}

#define NR(...) (sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
#define CHECK(mode, ...)                                                                        \
	check_words(mode, &python, words, ARRAY_SIZE(words), (const uint64_t[]){ __VA_ARGS__ }, \
		    NR(__VA_ARGS__))

static void the_interpreter_s_frames_give_way(void **state)
{
	(void)state;
	CHECK(SCRIPT_MIX, native[LEAF], SCRIPT, SCRIPT, native[CALL_BACK], SCRIPT, native[MAIN]);
}

static void all_between_give_way_where_scripts_alone_are_asked_for(void **state)
{
	(void)state;
	CHECK(SCRIPT_ONLY, native[LEAF], SCRIPT, SCRIPT, SCRIPT, native[MAIN]);
}

static void all_native_frames_stay_where_they_are_asked_for(void **state)
{
	(void)state;
	CHECK(SCRIPT_ALL, native[LEAF], SCRIPT, SCRIPT, native[LOOP_A], native[VECTOR_CALL],
	      native[CALL_BACK], native[OBJECT_CALL], SCRIPT, native[LOOP_B], native[MAIN]);
}

#define MADE(addr) (FPL_FRAME_JIT | (addr))

static void code_that_the_interpreter_made_gives_way_next_to_its_loop(void **state)
{
	struct script_facts jit = python;
	/* a leaf in made code; a loop; C code and made code below another loop */
	const uint64_t user[NR_NATIVE] = { MADE(0x100),	  MADE(0x17),	     native[LOOP_A],
					   MADE(0x300),	  native[CALL_BACK], MADE(0x17),
					   native[LOOP_B] };
	const uint64_t heads[] = { HEAD(2, 1), 0x7000, 1, HEAD(6, 1), 0x7100, 1 };
	const uint64_t shown[] = { SCRIPT, user[3], user[4], SCRIPT };
	const uint64_t all[] = { user[0], user[1], SCRIPT, user[2], user[3],
				 user[4], user[5], SCRIPT, user[6] };
	const uint64_t others[] = { user[0], user[1], SCRIPT, user[3], user[4], user[5], SCRIPT };

	(void)state;
	jit.makes_code = 1;
	check_stack(SCRIPT_MIX, &jit, user, heads, ARRAY_SIZE(heads), shown, ARRAY_SIZE(shown));
	check_stack(SCRIPT_ALL, &jit, user, heads, ARRAY_SIZE(heads), all, ARRAY_SIZE(all));
	check_stack(SCRIPT_MIX, &python, user, heads, ARRAY_SIZE(heads), others,
		    ARRAY_SIZE(others));
}

/* With all native frames: those in front of which each of the heads' chains is put. */
static void check_records(const uint64_t *heads, size_t nr, const uint64_t *expected,
			  size_t nr_expected)
{
	const struct script_facts perl = { .version = 3768ull << 32 | 53600u,
					   .nr_ranges = 1,
					   .language = SCRIPT_PERL };

	check_words(SCRIPT_ALL, &perl, heads, nr, expected, nr_expected);
}

#define CHECK_RECORDS(heads, ...) \
	check_records(heads, ARRAY_SIZE(heads), (const uint64_t[]){ __VA_ARGS__ }, NR(__VA_ARGS__))

static void records_belong_further_out_where_the_outermost_frame_has_none(void **state)
{
	const uint64_t one[] = { HEAD(LEAF, 1),	  0x7000, 1,
				 HEAD(LOOP_A, 2), 0x7000, 1,
				 0x7100,	  1,	  HEAD(LOOP_B, 0) | FPL_SCRIPT_BEHIND };
	/* an empty chain has its native frame, one that shares has none */
	const uint64_t two[] = { HEAD(LEAF, 1),
				 0x7000,
				 1,
				 HEAD(LOOP_A, 0),
				 HEAD(CALL_BACK, 0) | FPL_SCRIPT_SHARES,
				 HEAD(OBJECT_CALL, 2),
				 0x7000,
				 1,
				 0x7100,
				 1,
				 HEAD(LOOP_B, 0) | FPL_SCRIPT_BEHIND };

	(void)state;
	CHECK_RECORDS(one, native[LEAF], SCRIPT, native[LOOP_A], native[VECTOR_CALL],
		      native[CALL_BACK], native[OBJECT_CALL], SCRIPT, SCRIPT, native[LOOP_B],
		      native[MAIN]);
	CHECK_RECORDS(two, native[LEAF], SCRIPT, native[LOOP_A], native[VECTOR_CALL],
		      native[CALL_BACK], native[OBJECT_CALL], SCRIPT, SCRIPT, native[LOOP_B],
		      native[MAIN]);
}

static void words_that_lie_stay_in_their_bounds(void **state)
{
	const uint64_t cut[] = { HEAD(LEAF, 0xffff), 0x7000, 1, 0x7100 };
	const uint64_t behind[] = { HEAD(LEAF, 0) | FPL_SCRIPT_BEHIND,
				    HEAD(LOOP_A, 0) | FPL_SCRIPT_BEHIND };

	(void)state;
	CHECK_RECORDS(cut, SCRIPT, native[LEAF], native[LOOP_A], native[VECTOR_CALL],
		      native[CALL_BACK], native[OBJECT_CALL], native[LOOP_B], native[MAIN]);
	CHECK_RECORDS(behind, native[LEAF], native[LOOP_A], native[VECTOR_CALL], native[CALL_BACK],
		      native[OBJECT_CALL], native[LOOP_B], native[MAIN]);
}

static void a_look_goes_by_the_place_that_samples_found_before_the_one_of_the_code(void **state)
{
	static struct fpl_script_rule rules[FPL_SCRIPT_RULES_MAX];
	const struct script_options options = { .mode = SCRIPT_MIX };
	struct script_facts facts = python;
	struct fpl_script_rule *settled;
	struct scripts *scripts;

	(void)state;
	facts.place_regs[56 / 8] = 3;
	assert_int_equal(scripts_create(rules, &options, &scripts), 0);
	assert_int_equal(scripts_rule(scripts, PYTHON, "python", &facts), 1);
	assert_int_equal(scripts_rule(scripts, MODULE, "another", &python), 2);
	settled = scripts_settled(scripts);
	assert_int_equal(settled[1].object, PYTHON);
	assert_int_equal(settled[1].settled, 3 + 1);
	assert_int_equal(rules[1].settled, 0);
	assert_int_equal(settled[2].object, 0); /* neither tells: it has no rule */
	rules[1].settled = 6 + 1;
	rules[2].settled = 12 + 1;
	settled = scripts_settled(scripts);
	assert_int_equal(settled[1].settled, 6 + 1);
	assert_int_equal(settled[2].settled, 12 + 1);
	scripts_forget(scripts, PYTHON);
	assert_int_equal(scripts_settled(scripts)[1].object, 0);
	scripts_destroy(scripts);
}

struct calls {
	size_t nr;
	uint64_t code;
};

static void note_call(void *ctx, uint32_t rule, uint64_t code, uint64_t place)
{
	struct calls *calls = ctx;

	assert_int_equal(rule, 1);
	assert_int_equal(place, 1);
	calls->nr++;
	calls->code = code;
}

static void code_is_asked_for_until_it_is_known(void **state)
{
	static struct fpl_script_code record = { .gen = 7, .code = 0x7000 };
	const uint64_t cut[] = { HEAD(LEAF, 0xffff), 0x7300, 1, 0x7400 };
	struct script_codes *codes;
	struct calls calls = { 0 };

	(void)state;
	assert_int_equal(script_codes_create(1 << 20, false, &codes), 0);
	scripts_each_new_code(codes, 7, words, ARRAY_SIZE(words), note_call, &calls);
	assert_int_equal(calls.nr, 3);
	script_codes_add(codes, &python, &record, sizeof(record));
	record.code = 0x7200;
	script_codes_add(codes, &python, &record, sizeof(record));
	calls.nr = 0;
	scripts_each_new_code(codes, 7, words, ARRAY_SIZE(words), note_call, &calls);
	assert_int_equal(calls.nr, 1);
	assert_int_equal(calls.code, 0x7100);
	calls.nr = 0;
	scripts_each_new_code(codes, 8, words, ARRAY_SIZE(words), note_call, &calls);
	assert_int_equal(calls.nr, 3); /* another image */
	calls.nr = 0;
	scripts_each_new_code(codes, 7, cut, ARRAY_SIZE(cut), note_call, &calls);
	assert_int_equal(calls.nr, 1);
	assert_int_equal(calls.code, 0x7300);
	script_codes_put(codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interpreter_s_frames_give_way),
		cmocka_unit_test(all_between_give_way_where_scripts_alone_are_asked_for),
		cmocka_unit_test(all_native_frames_stay_where_they_are_asked_for),
		cmocka_unit_test(code_that_the_interpreter_made_gives_way_next_to_its_loop),
		cmocka_unit_test(records_belong_further_out_where_the_outermost_frame_has_none),
		cmocka_unit_test(words_that_lie_stay_in_their_bounds),
		cmocka_unit_test(
			a_look_goes_by_the_place_that_samples_found_before_the_one_of_the_code),
		cmocka_unit_test(code_is_asked_for_until_it_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
