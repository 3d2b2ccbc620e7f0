/* SPDX-License-Identifier: Apache-2.0 */
/* The line about code made at run time without a name. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "report/unnamed_code.h"

#define FRAME(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define RAW(addr)	     (FPL_FRAME_RAW | (addr))

/* A process that has ended, and was waited for. */
static pid_t gone_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* The line about 9 frames without a name in @pid, beside 1 of the file @path there, and 3 of the
 * file @other in another process, which has 2 without a name. */
static char *line_of(pid_t pid, const char *path, const char *other)
{
	struct profile_object objects[] = { { .id = 1, .path = (char *)path },
					    { .id = 2, .path = (char *)other } };
	uint64_t mine[] = { RAW(0x7000), FRAME(1, 0x10) }, more[] = { RAW(0x7100) };
	uint64_t others[] = { RAW(0x9000), FRAME(2, 0x20) }, named[] = { FRAME(2, 0x20) };
	struct profile_stack stacks[] = {
		{ .count = 1, .pid = (uint32_t)pid, .nr_user = 2, .frames = mine },
		{ .count = 2, .pid = 1, .nr_user = 2, .frames = others },
		{ .count = 8, .pid = (uint32_t)pid, .nr_user = 1, .frames = more },
		{ .count = 1, .pid = 1, .nr_user = 1, .frames = named },
	};
	const struct profile profile = {
		.user = true, .objects = objects, .nr_objects = 2, .stacks = stacks, .nr_stacks = 4
	};
	struct tally tally;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	tally_count(&profile, &tally);
	unnamed_code_write(to, &profile, &tally);
	fclose(to);
	return text;
}

static void a_running_process_is_one_for_the_doctor(void **state)
{
	AUTO_FREE char *text = line_of(getpid(), "/usr/bin/node", "/usr/bin/x");
	char want[64];

	(void)state;
	snprintf(want, sizeof(want), "name: `fpless doctor %d' says how to get one\n", getpid());
	if (!strstr(text, want))
		fail_msg("%s", text);
}

static void of_a_process_that_has_gone_the_next_run_is_told_what_to_do(void **state)
{
	static const struct {
		const char *what, *path, *want;
	} cases[] = {
		{ "a version is not told", "/usr/bin/node", "node: start it as `node --perf-" },
		{ "a way without its number", "/opt/jdk-21.0.2/lib/server/libjvm.so",
		  "Java 21: start it with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
		{ "a version before", "/x/Microsoft.NETCore.App/3.1.2/libcoreclr.so",
		  ".NET 3.1: start it with COMPlus_" },
		{ "no way in any version", "/usr/bin/luajit-2.1",
		  "Lua cannot name what it compiles\n" },
		{ "no way in this version", "/usr/bin/ruby3.1",
		  "Ruby 3.1 cannot name what it compiles; Ruby 3.3 and later can\n" },
		{ "perhaps in this version", "/usr/bin/ruby", "(Ruby 3.3 or later)\n" },
		{ "no language", "/usr/bin/x", "a perf map or a jitdump names it" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = line_of(gone_pid(), cases[i].path, "/usr/bin/php8.2");

		if (!strstr(text, cases[i].want) || strstr(text, "doctor"))
			fail_msg("%s: %s", cases[i].what, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_process_is_one_for_the_doctor),
		cmocka_unit_test(of_a_process_that_has_gone_the_next_run_is_told_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
