/* SPDX-License-Identifier: Apache-2.0 */
/* Which capability is held, and by which other. */
#include "cmocka_all.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/rights.h"

#define CAP(name) (1ull << CAP_##name)

static void each_right_is_found_by_its_capability(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_RIGHTS; i++) {
		assert_ptr_equal(right_of(rights[i].cap), &rights[i]);
		assert_true(rights[i].cost[0] != '\0');
	}
}

static void a_right_is_held_by_itself_or_by_what_includes_it(void **state)
{
	static const struct {
		const char *what;
		int cap;
		uint64_t held;
		enum host_ns user_ns;
		bool expected;
	} cases[] = {
		{ "itself", CAP_BPF, CAP(BPF), HOST_NS_INITIAL, true },
		{ "nothing", CAP_BPF, 0, HOST_NS_INITIAL, false },
		{ "another", CAP_BPF, CAP(PERFMON), HOST_NS_INITIAL, false },
		{ "what includes it", CAP_BPF, CAP(SYS_ADMIN), HOST_NS_INITIAL, true },
		{ "the same", CAP_PERFMON, CAP(SYS_ADMIN), HOST_NS_INITIAL, true },
		{ "the same", CAP_CHECKPOINT_RESTORE, CAP(SYS_ADMIN), HOST_NS_INITIAL, true },
		{ "files", CAP_DAC_READ_SEARCH, CAP(DAC_OVERRIDE), HOST_NS_INITIAL, true },
		{ "not files", CAP_DAC_READ_SEARCH, CAP(SYS_ADMIN), HOST_NS_INITIAL, false },
		{ "no other", CAP_SYS_PTRACE, ~CAP(SYS_PTRACE), HOST_NS_INITIAL, false },
		{ "no other", CAP_SYSLOG, ~CAP(SYSLOG), HOST_NS_INITIAL, false },
		{ "in a user namespace", CAP_BPF, ~0ull, HOST_NS_OTHER, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct host host = {
			.has_caps = true,
			.caps = cases[i].held,
			.user_ns = cases[i].user_ns,
		};

		if (right_is_held(&host, right_of(cases[i].cap)) != cases[i].expected)
			fail_msg("case %zu: %s", i, cases[i].what);
	}
}

/* Put the lines of rights_tell into @ret. */
static void told(uint64_t held, bool reads_others, char *ret, size_t size)
{
	const struct host host = { .has_caps = true, .caps = held, .user_ns = HOST_NS_INITIAL };
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);

	assert_non_null(file);
	assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	rights_tell(&host, reads_others);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	rewind(file);
	ret[fread(ret, 1, size - 1, file)] = '\0';
	fclose(file);
}

static size_t nr_lines(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

static void dispensable_rights_are_reported_if_relevant(void **state)
{
	char text[4096];

	(void)state;
	told(~0ull, true, text, sizeof(text));
	assert_string_equal(text, "");
	told(0, false, text, sizeof(text));
	assert_int_equal(nr_lines(text), 1);
	assert_non_null(strstr(text, "fpless: no CAP_CHECKPOINT_RESTORE: "));
	told(0, true, text, sizeof(text));
	assert_int_equal(nr_lines(text), 3);
	assert_non_null(strstr(text, "no CAP_SYS_PTRACE: "));
	assert_non_null(strstr(text, "no CAP_DAC_READ_SEARCH: "));
	told(CAP(SYS_ADMIN) | CAP(DAC_OVERRIDE) | CAP(SYS_PTRACE), true, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_right_is_found_by_its_capability),
		cmocka_unit_test(a_right_is_held_by_itself_or_by_what_includes_it),
		cmocka_unit_test(dispensable_rights_are_reported_if_relevant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
