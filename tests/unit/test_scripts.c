/* SPDX-License-Identifier: Apache-2.0 */
/* Script frames are woven into the native frames of a stack, in each mode. */
#include "cmocka_all.h"

#include "base/cleanup.h"
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

static void check_words(enum script_mode mode, const struct script_facts *facts,
			const uint64_t *script_words, size_t nr_words, const uint64_t *expected,
			size_t nr)
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
	woven = scripts_weave(scripts, codes, &sample, native, script_words, &nr_woven);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interpreter_s_frames_give_way),
		cmocka_unit_test(all_between_give_way_where_scripts_alone_are_asked_for),
		cmocka_unit_test(all_native_frames_stay_where_they_are_asked_for),
		cmocka_unit_test(records_belong_further_out_where_the_outermost_frame_has_none),
		cmocka_unit_test(words_that_lie_stay_in_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
