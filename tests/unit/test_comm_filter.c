/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/comm_filter.h"

static struct comm_filter *filter_of(const char *regex)
{
	struct comm_filter *filter = NULL;
	struct fpl_err err;

	if (comm_filter_create(regex, false, &filter, &err))
		fail_msg("%s", err.msg);
	return filter;
}

/* The name as a record has it, @rest in all bytes behind its NUL. */
static bool wants(struct comm_filter *filter, const char *name, char rest)
{
	char comm[FPL_COMM_SIZE];

	memset(comm, rest, sizeof(comm));
	memcpy(comm, name, strlen(name) + (strlen(name) < sizeof(comm)));
	return comm_filter_wants(filter, comm, 0, NULL, 0);
}

static void names_match_as_grep_does(void **state)
{
	static const struct {
		const char *regex, *name;
		bool want;
	} cases[] = {
		{ "perl", "perl", true },
		{ "perl", "superperl5", true },
		{ "^perl$", "perl5", false },
		{ "^(cc1|as)$", "as", true },
		{ "^(cc1|as)$", "bash", false },
		{ "ker.*/[0-9]+:", "kworker/3:1", true },
		{ "x{3}", "axxxb", true },
		{ "PERL", "perl", false },
		{ "^$", "", true },
		{ "", "anything", true },
		{ "\xff", "a\xff", true },
		{ "o$", "sixteen bytes lo", true }, /* no NUL at all */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct comm_filter *filter = filter_of(cases[i].regex);

		/* judged afresh, remembered, and whatever is left behind its end */
		for (int n = 0; n < 3; n++)
			if (wants(filter, cases[i].name, n == 2 ? 'z' : '\0') != cases[i].want)
				fail_msg("/%s/ on \"%s\": want %d", cases[i].regex, cases[i].name,
					 cases[i].want);
		comm_filter_destroy(filter);
	}
}

static void nonsense_is_refused_by_its_name(void **state)
{
	static const char *const cases[] = { "(", "[a", "a{2", "*a(", "[[:nothing:]]" };
	struct comm_filter *filter;
	struct fpl_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (comm_filter_create(cases[i], false, &filter, &err) != -EINVAL ||
		    !strstr(err.msg, cases[i]))
			fail_msg("/%s/ is taken", cases[i]);
	}
}

struct told {
	unsigned nr, wanted;
	char last[FPL_COMM_SIZE];
};

static void count_told(void *ctx, const struct fpl_comm *comm, uint32_t verdict)
{
	struct told *told = ctx;

	told->nr++;
	told->wanted += verdict == FPL_COMM_WANTED;
	memcpy(told->last, comm->name, sizeof(told->last));
}

static void verdicts_are_told_once_and_with_nothing_behind_the_name(void **state)
{
	static const char zeros[FPL_COMM_SIZE];
	struct comm_filter *filter = filter_of("^a");
	struct told told = { 0 };

	(void)state;
	comm_filter_tell(filter, count_told, &told);
	assert_true(wants(filter, "abc", 'z'));
	assert_string_equal(told.last, "abc");
	assert_memory_equal(told.last + 3, zeros, FPL_COMM_SIZE - 3);
	assert_true(wants(filter, "abc", 'y'));
	assert_false(wants(filter, "b", 'y'));
	assert_int_equal(told.nr, 2);
	assert_int_equal(told.wanted, 1);
	/* more names than are remembered: each verdict is right all the same */
	for (int n = 0; n < 5000; n++) {
		char name[16];

		snprintf(name, sizeof(name), "%c%d", n % 2 ? 'a' : 'b', n);
		assert_int_equal(wants(filter, name, '\0'), n % 2);
	}
	assert_int_equal(told.nr, 5002);
	comm_filter_destroy(filter);
}

static void unwanted_stacks_leave_the_profile_with_their_samples(void **state)
{
	static const struct {
		const char *comm;
		uint64_t count;
	} rows[] = { { "no", 1 }, { "yes", 2 }, { "no", 4 }, { "yess", 8 }, { "no", 16 } };
	struct comm_filter *filter = filter_of("^yes");
	struct profile profile = { .nr_stacks = ARRAY_SIZE(rows) };

	(void)state;
	profile.stacks = calloc(ARRAY_SIZE(rows), sizeof(*profile.stacks));
	assert_non_null(profile.stacks);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		profile.stacks[i].count = rows[i].count;
		profile.stacks[i].frames = malloc(8);
		snprintf(profile.stacks[i].comm, FPL_COMM_SIZE, "%s", rows[i].comm);
	}
	assert_int_equal(comm_filter_apply(filter, &profile), 21);
	assert_int_equal(profile.nr_stacks, 2);
	assert_int_equal(profile_shown(&profile), 10);
	assert_string_equal(profile.stacks[0].comm, "yes");
	assert_string_equal(profile.stacks[1].comm, "yess");
	assert_int_equal(comm_filter_apply(filter, &profile), 0);
	profile_fini(&profile);
	comm_filter_destroy(filter);
}

static void who_waited_is_in_the_key(void **state)
{
	struct comm_filter *filter = NULL;
	uint64_t key[FPL_KEY_MAX] = { 0 };
	struct fpl_err err;

	(void)state;
	assert_int_equal(comm_filter_create("^wakee$", true, &filter, &err), 0);
	memcpy(key, "wakee", 6);
	assert_true(comm_filter_wants(filter, "waker", 0, key, FPL_KEY_MAX));
	memcpy(key, "other", 6);
	assert_false(comm_filter_wants(filter, "wakee", 0, key, FPL_KEY_MAX));
	/* a stack that others lead to is kept, whoever has it */
	assert_true(comm_filter_wants(filter, "waker", FPL_SAMPLE_WAKER, NULL, 0));
	comm_filter_destroy(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_match_as_grep_does),
		cmocka_unit_test(nonsense_is_refused_by_its_name),
		cmocka_unit_test(verdicts_are_told_once_and_with_nothing_behind_the_name),
		cmocka_unit_test(unwanted_stacks_leave_the_profile_with_their_samples),
		cmocka_unit_test(who_waited_is_in_the_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
