/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "diff/diff_write.h"
#include "tests/support/recording_text.h"
#include "view/hex.h"

static int add_run(struct pairing *pairing, const struct recording *recording, enum diff_side side,
		   struct fpl_err *err)
{
	int error = pairing_add_part(pairing, recording, side, err);

	return error ? error : pairing_end_run(pairing, side, err);
}

static void add(struct pairing *pairing, enum diff_side side, const char *text)
{
	struct recording recording;
	struct fpl_err err = { 0 };

	assert_int_equal(
		recording_of(text, strlen(text), &(struct read_options){ 0 }, &recording, &err), 0);
	assert_int_equal(add_run(pairing, &recording, side, &err), 0);
	recording_fini(&recording);
}

static size_t item_of(const struct pairing *pairing, const char *text)
{
	for (size_t i = 0; i < pairing->items.nr; i++)
		if (!strcmp(pairing_text(pairing, pairing->items.list[i].text), text))
			return i;
	fail_msg("no item %s", text);
	return 0;
}

static uint64_t self_of(const struct pairing *pairing, const char *text, enum diff_side side)
{
	return tallies_count(&pairing->self, item_of(pairing, text), side);
}

static uint64_t total_of(const struct pairing *pairing, const char *text, enum diff_side side)
{
	return tallies_count(&pairing->total, item_of(pairing, text), side);
}

static void functions_are_paired_by_name_and_file(void **state)
{
	static const char before[] = "a;main;f 3\na;main;f;f 2\na;[/old/lib.so+0x1] 1\na 4\n";
	static const char after[] = "a;main;f;f 7\na;[/new/lib.so+0x1] 5\nb;main;f 1\n";
	struct pairing pairing;

	(void)state;
	pairing_init(&pairing, &(struct pairing_options){ .by = FUNCTIONS_BY_PLACE });
	add(&pairing, DIFF_BEFORE, before);
	add(&pairing, DIFF_AFTER, after);

	assert_int_equal(self_of(&pairing, "f", DIFF_BEFORE), 5);
	assert_int_equal(total_of(&pairing, "f", DIFF_BEFORE), 5); /* a recursion counts once */
	assert_int_equal(self_of(&pairing, "f", DIFF_AFTER), 8);
	assert_int_equal(self_of(&pairing, "main", DIFF_AFTER), 0);
	assert_int_equal(total_of(&pairing, "main", DIFF_AFTER), 8);
	assert_int_equal(self_of(&pairing, "[lib.so+0x1]", DIFF_BEFORE), 1);
	assert_int_equal(self_of(&pairing, "[lib.so+0x1]", DIFF_AFTER), 5);
	assert_int_equal(pairing.whole.count[DIFF_BEFORE], 10);
	assert_int_equal(pairing.stacks.nr, 5);
	pairing_fini(&pairing);
}

static void who_ended_a_wait_is_no_function_of_who_waited(void **state)
{
	static const char before[] = "a;main;wait;--;unlock;work;[thread b] 3\na;main;wait 1\n";
	static const char after[] = "a;main;wait;--;wait;work;[thread b] 7\n";
	struct pairing pairing;

	(void)state;
	pairing_init(&pairing, &(struct pairing_options){ .by = FUNCTIONS_BY_NAME });
	add(&pairing, DIFF_BEFORE, before);
	add(&pairing, DIFF_AFTER, after);

	assert_int_equal(self_of(&pairing, "wait", DIFF_BEFORE), 4);
	assert_int_equal(total_of(&pairing, "wait", DIFF_BEFORE), 4);
	assert_int_equal(self_of(&pairing, "wait", DIFF_AFTER), 7);
	assert_int_equal(total_of(&pairing, "main", DIFF_AFTER), 7);
	assert_int_equal(total_of(&pairing, "unlock", DIFF_BEFORE), 0);
	assert_int_equal(total_of(&pairing, "work", DIFF_AFTER), 0);
	assert_int_equal(self_of(&pairing, "[thread b]", DIFF_AFTER), 0);
	/* they are steps of its stack */
	assert_int_equal(pairing.stacks.nr, 3);
	pairing_fini(&pairing);
}

static void functions_are_told_apart_by_kind(void **state)
{
	static const char text[] = "f;f;f_[k] 3\n";
	struct pairing pairing;

	(void)state;
	pairing_init(&pairing, &(struct pairing_options){ .by = FUNCTIONS_BY_NAME });
	add(&pairing, DIFF_BEFORE, text);
	assert_int_equal(pairing.items.nr, 3); /* a task, a user and a kernel function */
	pairing_fini(&pairing);
	pairing_init(&pairing, &(struct pairing_options){ .by = FUNCTIONS_BY_TEXT });
	add(&pairing, DIFF_BEFORE, text);
	assert_int_equal(pairing.items.nr, 1);
	pairing_fini(&pairing);
}

static void a_run_without_samples_is_a_run_but_has_no_shares(void **state)
{
	struct pairing pairing;

	(void)state;
	pairing_init(&pairing, &(struct pairing_options){ .shares = true });
	add(&pairing, DIFF_BEFORE, "a;f 3\na;g 1\n");
	add(&pairing, DIFF_BEFORE, "");
	assert_int_equal(pairing.sides[DIFF_BEFORE].nr_runs, 2);
	assert_int_equal(pairing.sides[DIFF_BEFORE].nr_empty, 1);
	struct distribution buf;

	assert_true(tallies_get(&pairing.self, &pairing.runs, item_of(&pairing, "f"), &buf)
			    ->of[DIFF_SAMPLES][DIFF_BEFORE]
			    .sum == 0.75);
	pairing_fini(&pairing);
}

static void addresses_are_stripped(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "", "" },
		{ "0x", "0x" },
		{ "0x1", "0x..." },
		{ "[a+0xdeadBEEF]", "[a+0x...]" },
		{ "0x0x1g0x2", "0x...x1g0x..." },
		{ "00x1z", "00x...z" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *to = malloc(HEX_STRIPPED_SIZE(strlen(cases[i].from)));

		assert_non_null(to);
		hex_strip(cases[i].from, to);
		assert_string_equal(to, cases[i].to);
	}
}

static void scaled_counts_stay_in_64_bits(void **state)
{
	static const struct {
		const char *before, *after, *want;
	} cases[] = {
		{ "a;f 18446744073709551614\n", "a;f 18446744073709551614\n",
		  "a;f 18446744073709551614 18446744073709551614\n" },
		{ "a;f 18446744073709551613\n", "a;f 18446744073709551614\n",
		  "a;f 18446744073709551615 18446744073709551614\n" },
		{ "a;f 10\n", "", "a;f 0 0\n" },
		{ "", "a;f 10\n", "a;f 0 10\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pairing pairing;
		AUTO_FREE char *text = NULL;
		size_t size;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		pairing_init(&pairing, &(struct pairing_options){ .by = FUNCTIONS_BY_TEXT });
		add(&pairing, DIFF_BEFORE, cases[i].before);
		add(&pairing, DIFF_AFTER, cases[i].after);
		diff_folded_write(to, &pairing, true);
		assert_int_equal(fclose(to), 0);
		assert_string_equal(text, cases[i].want);
		pairing_fini(&pairing);
	}
}

static void counts_of_runs_beyond_64_bits_are_an_error(void **state)
{
	static const char text[] = "a;f 18446744073709551614\n";
	struct recording recording;
	struct pairing pairing;
	struct fpl_err err = { 0 };

	(void)state;
	pairing_init(&pairing, &(struct pairing_options){ 0 });
	add(&pairing, DIFF_AFTER, text);
	assert_int_equal(
		recording_of(text, strlen(text), &(struct read_options){ 0 }, &recording, &err), 0);
	assert_int_equal(add_run(&pairing, &recording, DIFF_AFTER, &err), -EOVERFLOW);
	assert_string_equal(err.msg, "counts add up to more than 2^64");
	recording_fini(&recording);
	pairing_fini(&pairing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_paired_by_name_and_file),
		cmocka_unit_test(who_ended_a_wait_is_no_function_of_who_waited),
		cmocka_unit_test(functions_are_told_apart_by_kind),
		cmocka_unit_test(a_run_without_samples_is_a_run_but_has_no_shares),
		cmocka_unit_test(addresses_are_stripped),
		cmocka_unit_test(scaled_counts_stay_in_64_bits),
		cmocka_unit_test(counts_of_runs_beyond_64_bits_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
