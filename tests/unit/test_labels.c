/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/folded_write.h"
#include "tests/support/written.h"

static struct cgroup_name cgroups[] = {
	{ 1, "/" }, { 40, "/a;b/c\n" }, { 50, NULL }, /* gone before it could be asked for */
};

static struct profile_stack stack = {
	.count = 1,
	.pid = 12,
	.tid = 13,
	.cpu = 3,
	.cgroup = 40,
	.comm = "a;b",
	.flags = FPL_SAMPLE_KTHREAD,
};

static struct profile profile = {
	.cgroups = cgroups,
	.nr_cgroups = ARRAY_SIZE(cgroups),
	.stacks = &stack,
	.nr_stacks = 1,
	.user = true,
	.kernel = true,
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

/* The labels of `stack` with '|' between them. A task without frames is a line of labels alone. */
static const char *labels(void)
{
	static char text[256];
	AUTO_FREE char *line =
		written_profile(folded_write, &profile, namer, &(struct format_options){ 0 }, 1);
	char *end = strrchr(line, ' ');

	assert_string_equal(end, " 1\n");
	snprintf(text, sizeof(text), "%.*s", (int)(end - line), line);
	for (char *s = strchr(text, ';'); s; s = strchr(s, ';'))
		*s = '|';
	return text;
}

static void labels_stand_in_their_order_whatever_was_asked_first(void **state)
{
	static const struct {
		unsigned by;
		const char *want;
	} cases[] = {
		{ 0, "a\\x3bb" },
		{ PROFILE_BY_COMM, "a\\x3bb" },
		{ PROFILE_BY_PID, "12" },
		{ PROFILE_BY_TID, "12/13" },
		{ PROFILE_BY_PID | PROFILE_BY_TID, "12/13" },
		{ PROFILE_BY_COMM | PROFILE_BY_PID, "a\\x3bb-12" },
		{ PROFILE_BY_COMM | PROFILE_BY_TID, "a\\x3bb-12/13" },
		{ PROFILE_BY_CPU, "cpu 3" },
		{ PROFILE_BY_CGROUP, "/a\\x3bb/c\\x0a" },
		{ PROFILE_BY_CGROUP | PROFILE_BY_CPU, "/a\\x3bb/c\\x0a|cpu 3" },
		{ PROFILE_BY_CPU | PROFILE_BY_COMM, "cpu 3|a\\x3bb" },
		{ PROFILE_BY_CGROUP | PROFILE_BY_PID, "/a\\x3bb/c\\x0a|12" },
		{ 31, "/a\\x3bb/c\\x0a|cpu 3|a\\x3bb-12/13" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		profile.by = cases[i].by;
		if (strcmp(labels(), cases[i].want) != 0)
			fail_msg("%#x: \"%s\", want \"%s\"", cases[i].by, labels(), cases[i].want);
	}
}

static void a_state_is_a_label_and_one_that_was_woken_up_has_a_leaf(void **state)
{
	static const struct {
		uint8_t flags;
		bool has_states;
		const char *want;
	} cases[] = {
		{ 0, false, "cpu 3" }, /* of other sources no state is known */
		{ 0, true, "on-cpu|cpu 3" },
		{ FPL_SAMPLE_BLOCKED, true, "blocked|cpu 3" },
		{ FPL_SAMPLE_RUNNABLE, true, "runnable|cpu 3" },
		{ FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_WOKEN, true, "runnable|cpu 3|[runnable]" },
		{ FPL_SAMPLE_THROTTLED, true, "throttled|cpu 3" },
		{ FPL_SAMPLE_FROZEN, true, "frozen|cpu 3" },
	};

	(void)state;
	profile.by = PROFILE_BY_CPU | PROFILE_BY_STATE;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		stack.flags = FPL_SAMPLE_KTHREAD | cases[i].flags;
		profile.has_states = cases[i].has_states;
		assert_string_equal(labels(), cases[i].want);
	}
	stack.flags = FPL_SAMPLE_KTHREAD;
	profile.has_states = false;
}

static void a_cgroup_without_a_path_has_its_id(void **state)
{
	static const struct {
		uint64_t id;
		const char *want;
	} cases[] = {
		{ 1, "/" },
		{ 50, "[cgroup 50]" },
		{ 51, "[cgroup 51]" },
		{ UINT64_MAX, "[cgroup 18446744073709551615]" },
	};

	(void)state;
	profile.by = PROFILE_BY_CGROUP;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		stack.cgroup = cases[i].id;
		assert_string_equal(labels(), cases[i].want);
	}
}

static void the_longest_labels_are_whole(void **state)
{
	(void)state;
	memset(stack.comm, 'x', FPL_COMM_SIZE - 1);
	stack.pid = stack.tid = stack.cpu = UINT32_MAX;
	profile.by = 31 & ~PROFILE_BY_CGROUP;
	assert_string_equal(labels(), "cpu 4294967295|xxxxxxxxxxxxxxx-4294967295/4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_stand_in_their_order_whatever_was_asked_first),
		cmocka_unit_test(a_state_is_a_label_and_one_that_was_woken_up_has_a_leaf),
		cmocka_unit_test(a_cgroup_without_a_path_has_its_id),
		cmocka_unit_test(the_longest_labels_are_whole),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
