/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/thread.h"

static int64_t number_in(const char *text, size_t size, const char *key)
{
	AUTO_FREE char *copy = malloc(size + 1); /* fmemopen() takes no size of 0 */
	FILE *file;
	int64_t number;

	assert_non_null(copy);
	memcpy(copy, text, size);
	copy[size] = '\n';
	file = fmemopen(copy, size + 1, "r");
	assert_non_null(file);
	number = thread_number_in(file, key);
	fclose(file);
	return number;
}

static void a_number_is_found_by_the_key_at_the_beginning_of_its_line(void **state)
{
	static const struct {
		const char *what, *text, *key;
		int64_t want;
	} cases[] = {
		{ "first line", "Tgid:\t17\nPid:\t18\n", "Tgid:", 17 },
		{ "last line", "Name:\tcat\nTracerPid:\t4194304", "TracerPid:", 4194304 },
		{ "a unit behind it", "VmSize:\t    5760 kB\n", "VmSize:", 5760 },
		{ "none", "Tracer:\t1\nTracerPid:\t0\n", "TracerPid:", 0 },
		{ "another key ends alike", "Pid:\t5\nNSTgid:\t6\n", "Tgid:", -1 },
		{ "a name like a key", "Name:\tTgid: 1\nTgid:\t2\n", "Tgid:", 2 },
		{ "a name like a line", "Name:\tx\\nTgid:\\t1\nTgid:\t2\n", "Tgid:", 2 },
		{ "nothing", "", "Tgid:", -1 },
		{ "no value", "Tgid:\nPid:\t1\n", "Tgid:", -1 },
		{ "blanks", "Tgid:  \t \n1\n", "Tgid:", -1 },
		{ "a word", "Tgid:\tmany\n", "Tgid:", -1 },
		{ "a sign", "Tgid:\t-1\nTgid:\t2\n", "Tgid:", -1 },
		{ "a plus", "Tgid:\t+1\n", "Tgid:", -1 },
		{ "hexadecimal", "Tgid:\t0x10\n", "Tgid:", -1 },
		{ "the largest", "VmSize:\t9223372036854775807 kB\n", "VmSize:", INT64_MAX },
		{ "too large", "VmSize:\t9223372036854775808 kB\n", "VmSize:", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t number = number_in(cases[i].text, strlen(cases[i].text), cases[i].key);

		if (number != cases[i].want)
			fail_msg("%s: %lld", cases[i].what, (long long)number);
	}
}

/* However the line is cut into pieces when it is read, none of them begins one. */
static void key_inside_a_long_line_is_ignored(void **state)
{
	static char text[1000];

	(void)state;
	for (size_t at = 7; at < 500; at++) {
		memset(text, ' ', sizeof(text));
		memcpy(text, "Groups:", 7);
		memcpy(text + at, "Tgid:\t1 ", 8);
		memcpy(text + 600, "\nTgid:\t2\n", 9);
		assert_int_equal(number_in(text, sizeof(text), "Tgid:"), 2);
	}
	for (size_t at = 5; at < 500; at++) { /* the number itself: whole, or none */
		int64_t number;

		memset(text, ' ', sizeof(text));
		memcpy(text, "Tgid:", 5);
		memcpy(text + at, "123 \n", 5);
		number = number_in(text, sizeof(text), "Tgid:");
		assert_true(number == 123 || (number == -1 && at > 100));
	}
	/* a zero byte, which the kernel writes none of */
	memcpy(text, "Name:\0\nTgid:\t2\n", 15);
	assert_int_equal(number_in(text, 15, "VmSize:"), -1);
}

static void a_state_is_found_behind_any_name(void **state)
{
	static const struct {
		const char *what, *text;
		char want;
	} cases[] = {
		{ "plain", "Name:\tcat\nUmask:\t0022\nState:\tR (running)\n", 'R' },
		{ "a name like it", "Name:\tState:\tR\nUmask:\t0\nState:\tS (sleeping)\n", 'S' },
		{ "a name with a line, as the kernel writes it",
		  "Name:\ta\\nState:\tR\nState:\tZ (zombie)\n", 'Z' },
		{ "cut behind the state", "Name:\tcat\nState:\tD", 'D' },
		{ "cut before the state", "Name:\tcat\nState:\t", '\0' },
		{ "cut in the key", "Name:\tcat\nState:", '\0' },
		{ "cut in the name", "Name:\tca", '\0' },
		{ "nothing", "", '\0' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *copy = strdup(cases[i].text); /* what is read behind it is seen */

		assert_non_null(copy);
		if (thread_state_in(copy) != cases[i].want)
			fail_msg("%s: %d", cases[i].what, thread_state_in(copy));
	}
}

/* In the child: until it is killed, with a name that says otherwise. */
static void sleep_under_a_name(int ready_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, ") Z 1\nTgid: 1\n");
	if (write(ready_fd, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void a_process_that_sleeps_and_ends_is_told(void **state)
{
	int fds[2];
	pid_t pid, process = 0;
	siginfo_t info;
	char byte;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		sleep_under_a_name(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	while (thread_state(pid, pid) != 'S')
		usleep(1000);
	assert_int_equal(thread_state(pid, pid), 'S');
	assert_true(thread_is_alive(pid, pid));
	assert_int_equal(thread_number(pid, "Tgid:"), pid);
	assert_int_equal(thread_number(pid, "PPid:"), getpid());
	assert_int_equal(thread_process(pid, &process, NULL), 0);
	assert_int_equal(process, pid);

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(thread_state(pid, pid), 'Z');
	assert_false(thread_is_alive(pid, pid));
	assert_int_equal(thread_number(pid, "VmSize:"), -1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(thread_state(pid, pid), '\0');
	assert_false(thread_is_alive(pid, pid));
	assert_int_equal(thread_number(pid, "Tgid:"), -1);
	assert_int_equal(thread_process(pid, &process, NULL), -ESRCH);
	close(fds[0]);
	close(fds[1]);
}

static void *look_at_itself(void *ctx)
{
	pid_t tid = gettid(), process = 0;

	(void)ctx;
	return thread_process(tid, &process, NULL) == 0 && process == getpid() && tid != process &&
			       thread_number(tid, "Pid:") == tid &&
			       thread_state(process, tid) == 'R' && thread_is_alive(process, tid)
		       ? NULL
		       : "it is another one";
}

static void a_thread_is_one_of_its_process(void **state)
{
	pthread_t thread;
	void *fault;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, look_at_itself, NULL), 0);
	assert_int_equal(pthread_join(thread, &fault), 0);
	assert_null(fault);
}

static void who_has_memory_is_told_by_the_status(void **state)
{
	static const struct {
		const char *what, *text;
		bool want;
	} cases[] = {
		{ "a process", "Name:\tcat\nVmPeak:\t1 kB\nVmSize:\t1 kB\nThreads:\t1\n", true },
		{ "a thread of the kernel", "Name:\tkworker\nState:\tI\nThreads:\t1\nSigQ:\t0/1\n",
		  false },
		{ "a name like it", "Name:\tVmSize:\nThreads:\t1\n", false },
		{ "cut before it", "Name:\tcat\nGroups:\t1 2 3", true },
		{ "nothing", "", true },
	};
	bool has_memory = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (process_has_memory_in(cases[i].text) != cases[i].want)
			fail_msg("%s", cases[i].what);
	}
	assert_int_equal(process_glance(getpid(), &has_memory), 'R');
	assert_true(has_memory);
}

static void states_read_as_those_of_proc(void **state)
{
	static const struct {
		uint64_t state;
		char want;
	} cases[] = {
		{ 0, 'R' },	{ 1, 'S' },	 { 0x2001, 'S' }, /* freezable */
		{ 2, 'D' },	{ 0x102, 'D' },			  /* killable */
		{ 0x402, 'I' }, { 0x1000, 'D' }, { 0x8000, 'D' }, { 0x104, 'T' },
		{ 0x8, 't' },	{ 0x40, 'P' },	 { 0x200, 'R' }, /* it is being woken up */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (*thread_state_text(cases[i].state) != cases[i].want)
			fail_msg("%#lx: %s", (unsigned long)cases[i].state,
				 thread_state_text(cases[i].state));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_found_by_the_key_at_the_beginning_of_its_line),
		cmocka_unit_test(key_inside_a_long_line_is_ignored),
		cmocka_unit_test(who_has_memory_is_told_by_the_status),
		cmocka_unit_test(a_state_is_found_behind_any_name),
		cmocka_unit_test(a_process_that_sleeps_and_ends_is_told),
		cmocka_unit_test(a_thread_is_one_of_its_process),
		cmocka_unit_test(states_read_as_those_of_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
