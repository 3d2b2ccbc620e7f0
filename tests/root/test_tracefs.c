/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/tracefs.h"
#include "source/event_format.h"
#include "tests/support/skip_test.h"

static int open_or_skip(void)
{
	struct fpl_err err = { 0 };
	int fd = -1;
	int code = tracefs_open(&fd, &err);

	if (code)
		skip_test("%s", err.msg);
	return fd;
}

/* All mounts that this process sees; the caller's. */
static char *mounts(void)
{
	enum { MAX = 1 << 20 };
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *text = calloc(1, MAX);

	assert_non_null(file);
	assert_non_null(text);
	assert_in_range(fread(text, 1, MAX - 1, file), 1, MAX - 2);
	fclose(file);
	return text;
}

static void no_mount_is_made_for_tracepoints(void **state)
{
	AUTO_FREE char *before = mounts();
	AUTO_FD int fd = open_or_skip();
	AUTO_FREE char *after = mounts();

	(void)state;
	assert_string_equal(before, after);
}

static void a_tracepoint_has_a_number_and_a_format(void **state)
{
	AUTO_FD int fd = open_or_skip();
	AUTO_FREE char *format = NULL;
	struct fpl_err err = { 0 };
	uint64_t id = 0;
	char wanted[64];

	(void)state;
	assert_int_equal(tracefs_event_id(fd, "sched", "sched_switch", &id, &err), 0);
	assert_true(id > 0);
	assert_int_equal(tracefs_format(fd, "sched", "sched_switch", &format, &err), 0);
	snprintf(wanted, sizeof(wanted), "name: sched_switch\nID: %llu\n", (unsigned long long)id);
	assert_memory_equal(format, wanted, strlen(wanted));
	assert_non_null(strstr(format, "\tfield:pid_t next_pid;"));
}

static void names_lead_out_of_no_folder(void **state)
{
	static const char *const cases[][2] = { { "sched", "no_such_event" },
						{ "no_such", "sched_switch" },
						{ "..", "sched_switch" },
						{ "sched/../sched", "sched_switch" },
						{ "", "sched" },
						{ "sched", "" },
						{ "sched", "../../../current_tracer" } };
	AUTO_FD int fd = open_or_skip();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_err err = { 0 };
		uint64_t id;

		assert_int_equal(tracefs_event_id(fd, cases[i][0], cases[i][1], &id, &err),
				 -ENOENT);
		assert_non_null(strstr(err.msg, ": no such tracepoint"));
	}
}

struct seen {
	size_t nr, nr_switches;
};

static int see(const char *category, const char *name, void *ctx)
{
	struct seen *seen = ctx;

	seen->nr++;
	seen->nr_switches += !strcmp(category, "sched") && !strcmp(name, "sched_switch");
	return 0;
}

static int stop_at_once(const char *category, const char *name, void *ctx)
{
	(void)category;
	(void)name;
	++*(int *)ctx;
	return 7;
}

static void all_are_listed_once_until_told_to_stop(void **state)
{
	AUTO_FD int fd = open_or_skip();
	struct seen seen = { 0 };
	int nr = 0;

	(void)state;
	assert_int_equal(tracefs_for_each(fd, see, &seen), 0);
	assert_int_equal(seen.nr_switches, 1);
	assert_true(seen.nr > 300);
	assert_int_equal(tracefs_for_each(fd, stop_at_once, &nr), 7);
	assert_int_equal(nr, 1);
}

/* tracefs_for_each: all formats of this machine are understood. */
static int parse_format(const char *category, const char *name, void *ctx)
{
	const int fd = *(const int *)ctx;
	CLEANUP(event_format_fini) struct event_format format = { 0 };
	AUTO_FREE char *text = NULL;
	struct fpl_err err = { 0 };
	int code = tracefs_format(fd, category, name, &text, &err);

	/* those of ftrace itself have none that programs see */
	if (code == -ENOENT)
		return 0;
	if (!code)
		code = event_format_parse(text, category, &format, &err);
	if (code)
		fail_msg("%s:%s: %s", category, name, err.msg);
	for (size_t i = 0; i < format.nr; i++)
		if (format.fields[i].field.kind == FPL_FIELD_SIGNED ||
		    format.fields[i].field.kind == FPL_FIELD_UNSIGNED)
			assert_in_range(format.fields[i].field.size, 1, 8);
	return 0;
}

static void the_formats_of_all_tracepoints_are_understood(void **state)
{
	AUTO_FD int fd = open_or_skip();

	(void)state;
	assert_int_equal(tracefs_for_each(fd, parse_format, &fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mount_is_made_for_tracepoints),
		cmocka_unit_test(a_tracepoint_has_a_number_and_a_format),
		cmocka_unit_test(names_lead_out_of_no_folder),
		cmocka_unit_test(all_are_listed_once_until_told_to_stop),
		cmocka_unit_test(the_formats_of_all_tracepoints_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
