// SPDX-License-Identifier: Apache-2.0
/* A command that is started, and the wait for its exec. */
#include "cmocka_all.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/cleanup.h"
#include "profile/command.h"

static int nr_signals; /* that come before the next poll may wait */

int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);

/* Waits as long as it takes: the machine may be busy. */
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	assert_true(timeout_ms >= 0);
	if (nr_signals) {
		nr_signals--;
		errno = EINTR;
		return -1;
	}
	return ppoll(fds, nr, NULL, NULL);
}

static void a_signal_does_not_end_the_wait_for_the_exec(void **state)
{
	char *commands[][2] = { { "/no/such/program" }, { "/bin/true" } };
	const int codes[] = { -ENOENT, 0 };
	sigset_t none;

	(void)state;
	sigemptyset(&none);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct command command;
		struct fpl_err err = { 0 };

		assert_int_equal(
			command_start(commands[i], false, false, NULL, &none, &command, NULL), 0);
		nr_signals = 3;
		assert_int_equal(command_release(&command, -1, &err), codes[i]);
		assert_int_equal(nr_signals, 0);
		assert_int_equal(command.failed, codes[i] != 0);
		assert_int_equal(command.fail_fd, -1);
		if (codes[i])
			assert_string_equal(err.msg, "/no/such/program: No such file or directory");
		command_end(&command);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_does_not_end_the_wait_for_the_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
