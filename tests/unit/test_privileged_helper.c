/* SPDX-License-Identifier: Apache-2.0 */
/* A privileged helper does what was agreed on when it started, and nothing else. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/privileged_helper.h"

static int keep_all(void)
{
	return 0;
}

static int refuse(void)
{
	return -EPERM;
}

static int number_of(void *ctx)
{
	return *(const int *)ctx;
}

/* Does the helper do it, or this process? */
static int parent_of_doer(void *ctx)
{
	(void)ctx;
	return (int)getppid();
}

static int is_open(void *ctx)
{
	return fcntl(*(const int *)ctx, F_GETFD) >= 0;
}

static void each_task_gives_its_own_result(void **state)
{
	struct privileged_helper helper = HELPER_NONE;
	int numbers[] = { 0, -EACCES, 7 };

	(void)state;
	for (int i = 0; i < (int)ARRAY_SIZE(numbers); i++)
		assert_int_equal(helper_add(&helper, number_of, &numbers[i], -1), i);
	assert_int_equal(helper_add(&helper, parent_of_doer, NULL, -1), 3);
	assert_int_equal(helper_start(&helper, keep_all, NULL), 0);
	for (int i = (int)ARRAY_SIZE(numbers) - 1; i >= 0; i--)
		assert_int_equal(helper_do(&helper, i), numbers[i]);
	assert_int_equal(helper_do(&helper, 3), getpid());
	helper_fini(&helper);
	helper_fini(&helper);
}

static void task_sees_the_state_at_the_start(void **state)
{
	struct privileged_helper helper = HELPER_NONE;
	int number = 1;

	(void)state;
	assert_int_equal(helper_add(&helper, number_of, &number, -1), 0);
	assert_int_equal(helper_start(&helper, keep_all, NULL), 0);
	number = 2;
	assert_int_equal(helper_do(&helper, 0), 1);
	helper_fini(&helper);
}

static void helper_needs_tasks_and_a_successful_start(void **state)
{
	struct privileged_helper helper = HELPER_NONE;
	int number = 1;

	(void)state;
	assert_int_equal(helper_start(&helper, keep_all, NULL), 0);
	assert_int_equal(helper.pid, 0);
	assert_int_equal(helper_add(&helper, number_of, &number, -1), 0);
	assert_int_equal(helper_do(&helper, 0), -ECHILD);
	assert_int_equal(helper_start(&helper, refuse, NULL), 0);
	assert_int_equal(helper_do(&helper, 0), -ECHILD);
	helper_fini(&helper);
}

static void a_number_that_is_no_task_is_refused(void **state)
{
	struct privileged_helper helper = HELPER_NONE;
	int number = 1;

	(void)state;
	assert_int_equal(helper_add(&helper, number_of, &number, -1), 0);
	assert_int_equal(helper_start(&helper, keep_all, NULL), 0);
	assert_int_equal(helper_do(&helper, 1), -EINVAL);
	assert_int_equal(helper_do(&helper, -1), -ECHILD);
	assert_int_equal(helper_do(&helper, 0), 1);
	helper_fini(&helper);
}

static void only_the_descriptors_of_tasks_stay_open(void **state)
{
	struct privileged_helper helper = HELPER_NONE;
	int fds[5];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++)
		assert_int_equal(helper_add(&helper, is_open, &fds[i], i % 2 ? fds[i] : -1), i);
	assert_int_equal(helper_start(&helper, keep_all, NULL), 0);
	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++)
		assert_int_equal(helper_do(&helper, i), i % 2);
	helper_fini(&helper);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void it_ends_with_its_parent_and_not_before(void **state)
{
	int number = 1, pipes[2];
	char said;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);

	pid_t parent = fork();

	if (!parent) {
		struct privileged_helper helper = HELPER_NONE;

		if (helper_add(&helper, number_of, &number, pipes[1]) ||
		    helper_start(&helper, keep_all, NULL))
			_exit(1);
		kill(helper.pid, SIGINT);
		kill(helper.pid, SIGTERM);
		if (helper_do(&helper, 0) != 1)
			_exit(1);
		raise(SIGKILL);
	}

	int status;

	close(pipes[1]);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFSIGNALED(status));
	/* the helper holds the last descriptor of the pipe */
	assert_int_equal(read(pipes[0], &said, 1), 0);
	close(pipes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_gives_its_own_result),
		cmocka_unit_test(task_sees_the_state_at_the_start),
		cmocka_unit_test(helper_needs_tasks_and_a_successful_start),
		cmocka_unit_test(a_number_that_is_no_task_is_refused),
		cmocka_unit_test(only_the_descriptors_of_tasks_stay_open),
		cmocka_unit_test(it_ends_with_its_parent_and_not_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
