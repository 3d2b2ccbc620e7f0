/* SPDX-License-Identifier: Apache-2.0 */
/* A deputy does what was agreed on when it started, and nothing else. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deputy.h"

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

/* Who does it? */
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
	struct deputy deputy = DEPUTY_NONE;
	int numbers[] = { 0, -EACCES, 7 };

	(void)state;
	for (int i = 0; i < (int)ARRAY_SIZE(numbers); i++)
		assert_int_equal(deputy_add(&deputy, number_of, &numbers[i], -1), i);
	assert_int_equal(deputy_add(&deputy, parent_of_doer, NULL, -1), 3);
	assert_int_equal(deputy_start(&deputy, keep_all, NULL), 0);
	for (int i = (int)ARRAY_SIZE(numbers) - 1; i >= 0; i--)
		assert_int_equal(deputy_do(&deputy, i), numbers[i]);
	assert_int_equal(deputy_do(&deputy, 3), getpid());
	deputy_fini(&deputy);
	deputy_fini(&deputy);
}

static void task_sees_the_state_at_the_start(void **state)
{
	struct deputy deputy = DEPUTY_NONE;
	int number = 1;

	(void)state;
	assert_int_equal(deputy_add(&deputy, number_of, &number, -1), 0);
	assert_int_equal(deputy_start(&deputy, keep_all, NULL), 0);
	number = 2;
	assert_int_equal(deputy_do(&deputy, 0), 1);
	deputy_fini(&deputy);
}

static void deputy_needs_tasks_and_a_successful_start(void **state)
{
	struct deputy deputy = DEPUTY_NONE;
	int number = 1;

	(void)state;
	assert_int_equal(deputy_start(&deputy, keep_all, NULL), 0);
	assert_int_equal(deputy.pid, 0);
	assert_int_equal(deputy_add(&deputy, number_of, &number, -1), 0);
	assert_int_equal(deputy_do(&deputy, 0), -ECHILD);
	assert_int_equal(deputy_start(&deputy, refuse, NULL), 0);
	assert_int_equal(deputy_do(&deputy, 0), -ECHILD);
	deputy_fini(&deputy);
}

static void a_number_that_is_no_task_is_refused(void **state)
{
	struct deputy deputy = DEPUTY_NONE;
	int number = 1;

	(void)state;
	assert_int_equal(deputy_add(&deputy, number_of, &number, -1), 0);
	assert_int_equal(deputy_start(&deputy, keep_all, NULL), 0);
	assert_int_equal(deputy_do(&deputy, 1), -EINVAL);
	assert_int_equal(deputy_do(&deputy, -1), -ECHILD);
	assert_int_equal(deputy_do(&deputy, 0), 1);
	deputy_fini(&deputy);
}

static void only_the_descriptors_of_tasks_stay_open(void **state)
{
	struct deputy deputy = DEPUTY_NONE;
	int fds[5];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++)
		assert_int_equal(deputy_add(&deputy, is_open, &fds[i], i % 2 ? fds[i] : -1), i);
	assert_int_equal(deputy_start(&deputy, keep_all, NULL), 0);
	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++)
		assert_int_equal(deputy_do(&deputy, i), i % 2);
	deputy_fini(&deputy);
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
		struct deputy deputy = DEPUTY_NONE;

		if (deputy_add(&deputy, number_of, &number, pipes[1]) ||
		    deputy_start(&deputy, keep_all, NULL))
			_exit(1);
		kill(deputy.pid, SIGINT);
		kill(deputy.pid, SIGTERM);
		if (deputy_do(&deputy, 0) != 1)
			_exit(1);
		raise(SIGKILL);
	}

	int status;

	close(pipes[1]);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFSIGNALED(status));
	/* the deputy holds the last descriptor of the pipe */
	assert_int_equal(read(pipes[0], &said, 1), 0);
	close(pipes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_gives_its_own_result),
		cmocka_unit_test(task_sees_the_state_at_the_start),
		cmocka_unit_test(deputy_needs_tasks_and_a_successful_start),
		cmocka_unit_test(a_number_that_is_no_task_is_refused),
		cmocka_unit_test(only_the_descriptors_of_tasks_stay_open),
		cmocka_unit_test(it_ends_with_its_parent_and_not_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
