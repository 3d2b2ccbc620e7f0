/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "view/jump_lanes.h"

#define NO JUMP_NONE

/* One row, the highest column first: a letter for each part, '>' where a line leads to it. */
static void draw_row(const struct jump_lanes *lanes, size_t row, char *ret)
{
	static const char letters[] = { '.', '|', '/', '\\', '+' };

	for (unsigned column = lanes->nr_columns; column--;)
		*ret++ = letters[jump_part(lanes, row, column)];
	if (jump_is_target(lanes, row))
		*ret++ = '>';
	*ret = '\0';
}

static const struct {
	const char *what;
	uint32_t to[8];
	size_t nr;
	const char *rows[8];
} cases[] = {
	{ "none", { NO, NO }, 2, { "", "" } },
	{ "down", { 2, NO, NO }, 3, { "/", "|", "\\>" } },
	{ "up", { NO, NO, 0 }, 3, { "/>", "|", "\\" } },
	{ "to itself", { NO, 1 }, 2, { "", "" } },
	{ "outside", { 2, NO }, 2, { "", "" } },
	{ "two to one place", { 3, NO, 3, NO }, 4, { "/", "|", "+", "\\>" } },
	{ "from both sides", { 1, NO, 1 }, 3, { "/", "+>", "\\" } },
	{ "one in another", { 3, 2, NO, NO }, 4, { "/.", "|/", "|\\>", "\\.>" } },
	{ "one behind another", { 1, NO, 3, NO }, 4, { "/", "\\>", "/", "\\>" } },
	{ "they cross", { 2, 3, NO, NO }, 4, { "./", "/|", "|\\>", "\\.>" } },
	{ "a target jumps on", { 1, 2, NO }, 3, { "./", "/\\>", "\\.>" } },
};

static void jumps_are_lines_from_all_that_jump_to_their_target(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jump_lanes lanes;

		print_message("%s\n", cases[i].what);
		jump_lanes_make(cases[i].to, cases[i].nr, &lanes);
		for (size_t row = 0; row < cases[i].nr; row++) {
			char drawn[JUMP_LANES_MAX + 2];

			draw_row(&lanes, row, drawn);
			assert_string_equal(drawn, cases[i].rows[row]);
		}
		jump_lanes_fini(&lanes);
	}
}

static void short_jumps_are_drawn_where_not_all_fit(void **state)
{
	enum { NR = 40 };
	uint32_t to[NR];
	struct jump_lanes lanes;

	(void)state;
	/* each jumps over all before it */
	for (uint32_t i = 0; i < NR; i++)
		to[i] = i < NR / 2 ? NR - 1 - i : NO;
	jump_lanes_make(to, NR, &lanes);
	assert_int_equal(lanes.nr_columns, JUMP_LANES_MAX);
	for (uint32_t i = 0; i < NR / 2; i++)
		assert_int_equal(jump_is_target(&lanes, to[i]), i >= NR / 2 - JUMP_LANES_MAX);
	jump_lanes_fini(&lanes);
}

/* As many rows and jumps as a function may have: its steps are bounded. */
static void jumps_of_hostile_code_end(void **state)
{
	enum { NR = 1 << 20 };
	uint32_t *to = calloc(NR, sizeof(*to));
	struct jump_lanes lanes;

	(void)state;
	assert_non_null(to);
	for (uint32_t i = 0; i < NR; i++)
		to[i] = NR - 1 - i;
	jump_lanes_make(to, NR, &lanes);
	assert_int_equal(lanes.nr_columns, JUMP_LANES_MAX);
	assert_false(jump_is_target(&lanes, 0));
	jump_lanes_fini(&lanes);
	free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps_are_lines_from_all_that_jump_to_their_target),
		cmocka_unit_test(short_jumps_are_drawn_where_not_all_fit),
		cmocka_unit_test(jumps_of_hostile_code_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
