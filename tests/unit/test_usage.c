/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/overhead.h"
#include "profile/usage.h"

#define MIB (1ull << 20)

/* Computes for some ticks and takes memory, then says so and stays. */
static void work(int ready_fd)
{
	char *memory =
		mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, 16 * MIB);
	munmap(memory, 16 * MIB); /* what counts is the most it ever had */
	while (usage_cpu_ns() < 50000000)
		;
	if (write(ready_fd, "x", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static pid_t start(int depth)
{
	int fds[2];
	char byte;

	assert_int_equal(pipe(fds), 0);

	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* a name that looks like the end of one */
		prctl(PR_SET_NAME, "a) R 1 1");
		if (depth)
			start(depth - 1);
		work(fds[1]);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void helpers_are_children_and_theirs_but_for_the_command(void **state)
{
	struct usage_helpers none, one, both, with_dead;
	pid_t helper, command;

	(void)state;
	usage_helpers(0, &none);
	assert_int_equal(none.cpu_ns + none.rss_anon_peak_bytes, 0);

	command = start(0);
	usage_helpers(command, &none);
	assert_int_equal(none.cpu_ns + none.rss_anon_peak_bytes, 0);
	usage_helpers(0, &one);
	assert_in_range(one.cpu_ns, 40000000, 10000000000);
	/* files may have come in behind the peak, and the kernel counts in batches */
	assert_in_range(one.rss_anon_peak_bytes, 14 * MIB, 24 * MIB);

	helper = start(1);
	usage_helpers(command, &both);
	assert_in_range(both.cpu_ns, 80000000, 20000000000);
	assert_in_range(both.rss_anon_peak_bytes, 28 * MIB, 48 * MIB);

	kill(helper, SIGKILL);
	kill(command, SIGKILL);
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	assert_int_equal(waitpid(command, NULL, 0), command);
	usage_helpers(0, &with_dead);
	assert_int_equal(with_dead.rss_anon_peak_bytes, 0);
}

static void own_use_grows(void **state)
{
	uint64_t cpu_ns = usage_cpu_ns(), rss = usage_rss_anon_bytes();
	char *memory =
		mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(memory != MAP_FAILED && rss > 0);
	memset(memory, 1, 8 * MIB);
	assert_true(usage_rss_anon_bytes() >= rss + 7 * MIB);
	assert_true(usage_cpu_ns() > cpu_ns);
	munmap(memory, 8 * MIB);
}

/* Does a look note a helper more, which has 14 MiB? */
static bool notes_one_more(struct overhead *overhead, uint64_t now_s, uint64_t most_age_ns)
{
	uint64_t before = overhead->helpers.rss_anon_peak_bytes;

	overhead_look(overhead, now_s * NS_PER_S, most_age_ns);
	return overhead->helpers.rss_anon_peak_bytes >= before + 14 * MIB;
}

static void helpers_are_noted_each_minute_or_where_asked(void **state)
{
	struct overhead calm = { .rss_peak_bytes = 0 }, limited = { .config.limit = 1 };
	pid_t helpers[3] = { start(0) };

	(void)state;
	assert_true(notes_one_more(&calm, 100, UINT64_MAX));
	assert_true(notes_one_more(&limited, 100, UINT64_MAX));
	helpers[1] = start(0);
	assert_false(notes_one_more(&calm, 159, UINT64_MAX));
	assert_true(notes_one_more(&calm, 160, UINT64_MAX));
	assert_true(notes_one_more(&limited, 101, UINT64_MAX));
	helpers[2] = start(0);
	assert_false(notes_one_more(&calm, 163, 4 * NS_PER_S));
	assert_true(notes_one_more(&calm, 164, 4 * NS_PER_S));
	assert_true(notes_one_more(&limited, 101, 0));
	for (size_t i = 0; i < 3; i++) {
		kill(helpers[i], SIGKILL);
		assert_int_equal(waitpid(helpers[i], NULL, 0), helpers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(helpers_are_children_and_theirs_but_for_the_command),
		cmocka_unit_test(own_use_grows),
		cmocka_unit_test(helpers_are_noted_each_minute_or_where_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
