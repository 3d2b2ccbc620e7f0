/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls left to a reader of recordings, and to a run. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "parse/sandbox.h"
#include "tests/support/skip_test.h"

static int page(int prot, int flags, int fd)
{
	void *at = mmap(NULL, 4096, prot, flags, fd, 0);

	return at == MAP_FAILED ? -errno : 0;
}

static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static int open_to_read(void)
{
	return result(open("/dev/null", O_RDONLY));
}

static int open_to_write(void)
{
	return result(open("/dev/null", O_WRONLY));
}

static int make_file(void)
{
	return result(open("/tmp", O_TMPFILE | O_RDWR, 0600));
}

static int rename_file(void)
{
	return result(rename("/nowhere/a", "/nowhere/b"));
}

static int connect_out(void)
{
	return result(socket(AF_INET, SOCK_STREAM, 0));
}

static int pair_of_sockets(void)
{
	int fds[2];

	return result(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

static int pair_of_others(void)
{
	int fds[2];

	return result(socketpair(AF_INET, SOCK_STREAM, 0, fds));
}

static int make_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return result(pid);
}

static int run_program(void)
{
	return result(execl("/bin/true", "true", NULL));
}

static int end_others(void)
{
	return result(kill(getppid(), 0));
}

static int take_code(void)
{
	return page(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int make_code(void)
{
	static unsigned char bytes[8192];
	uintptr_t at = ((uintptr_t)bytes + 4095) & ~(uintptr_t)4095;

	return result(mprotect((void *)at, 4096, PROT_READ | PROT_EXEC));
}

static int take_memory(void)
{
	return page(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Blocks that come from new mappings, grow where they are and go back. */
static int grow_memory(void)
{
	char *bytes = malloc(16);

	for (size_t size = 16; bytes && size < 64u << 20; size *= 3) {
		char *bigger = realloc(bytes, size);

		if (!bigger)
			return -ENOMEM;
		bytes = bigger;
		memset(bytes, 1, size);
	}
	free(bytes);
	return bytes ? 0 : -ENOMEM;
}

static int keep_a_pipe(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	return fd < 0 || write(fd, "a", 1) != 1 || lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, 0)
		       ? -errno
		       : 0;
}

static int stat_what_is_open(void)
{
	struct stat st;

	return result(fstat(STDOUT_FILENO, &st));
}

static const struct {
	const char *what;
	int (*ask)(void);
	int alone, finding; /* errors without and with finds_files; 0: it is allowed */
} cases[] = {
	{ "memory", take_memory, 0, 0 },
	{ "much memory", grow_memory, 0, 0 },
	{ "a file of memory", keep_a_pipe, 0, 0 },
	{ "stat of what is open", stat_what_is_open, 0, 0 },
	{ "a file to read", open_to_read, -EPERM, 0 },
	{ "workers", pair_of_sockets, -EPERM, 0 },
	{ "a file to write", open_to_write, -EPERM, -EPERM },
	{ "a new file", make_file, -EPERM, -EPERM },
	{ "another name", rename_file, -EPERM, -EPERM },
	{ "the network", connect_out, -EPERM, -EPERM },
	{ "a pair of it", pair_of_others, -EPERM, -EPERM },
	{ "a process", make_process, -EPERM, -EPERM },
	{ "a program", run_program, -EPERM, -EPERM },
	{ "a signal", end_others, -EPERM, -EPERM },
	{ "executable memory", take_code, -EPERM, -EPERM },
	{ "memory made executable", make_code, -EPERM, -EPERM },
};

/* In a child, which has no way back. */
static int ask_inside(int (*ask)(void), int (*enter)(struct fpl_err *err))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || enter(NULL))
			_exit(255);
		_exit(-ask());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int enter_reader(struct fpl_err *err)
{
	return sandbox_enter_reader(false, err);
}

static int enter_finder(struct fpl_err *err)
{
	return sandbox_enter_reader(true, err);
}

static void a_reader_reads_and_writes_and_no_more(void **state)
{
	(void)state;
	if (!sandbox_has_filter())
		skip_test("no filter of system calls in a build with sanitizers");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int alone = ask_inside(cases[i].ask, enter_reader);
		int finding = ask_inside(cases[i].ask, enter_finder);

		if (alone != cases[i].alone || finding != cases[i].finding)
			fail_msg("%s: %d, and %d where files are found", cases[i].what, alone,
				 finding);
	}
}

static int trace_parent(void)
{
	return result((int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int mount_something(void)
{
	return result(mount("none", "/nowhere", "tmpfs", 0, NULL));
}

static int new_namespace(void)
{
	return result(unshare(CLONE_NEWNS));
}

static int write_to_terminal(void)
{
	return result(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static int write_elsewhere(void)
{
	return result((int)syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
}

static int ask_for_keys(void)
{
	return result((int)syscall(SYS_keyctl, 0, 0));
}

static int use_uring(void)
{
	return result((int)syscall(SYS_io_uring_setup, 1, NULL));
}

static void *end_at_once(void *arg)
{
	return arg;
}

static int make_thread(void)
{
	pthread_t thread;
	int code = pthread_create(&thread, NULL, end_at_once, NULL);

	return code ? -code : -pthread_join(thread, NULL);
}

static void run_may_use_only_needed_system_calls(void **state)
{
	static const struct {
		const char *what;
		int (*ask)(void);
		int want;
	} run_cases[] = {
		{ "memory", take_memory, 0 },
		{ "much memory", grow_memory, 0 },
		{ "a file of memory", keep_a_pipe, 0 },
		{ "a file to read", open_to_read, 0 },
		{ "workers", pair_of_sockets, 0 },
		{ "a process", make_process, 0 },
		{ "a thread", make_thread, 0 },
		{ "another name", rename_file, -ENOENT },
		{ "a process traced", trace_parent, -ENOSYS },
		{ "a mount", mount_something, -ENOSYS },
		{ "a namespace", new_namespace, -ENOSYS },
		{ "keys typed for somebody", write_to_terminal, -ENOSYS },
		{ "another's memory", write_elsewhere, -ENOSYS },
		{ "keys", ask_for_keys, -ENOSYS },
		{ "io_uring", use_uring, -ENOSYS },
		{ "the network", connect_out, -ENOSYS },
		{ "a pair of it", pair_of_others, -ENOSYS },
	};

	(void)state;
	if (!sandbox_has_filter())
		skip_test("no filter of system calls in a build with sanitizers");
	for (size_t i = 0; i < ARRAY_SIZE(run_cases); i++) {
		int got = ask_inside(run_cases[i].ask, sandbox_enter_run);

		if (got != run_cases[i].want)
			fail_msg("%s: %d, not %d", run_cases[i].what, got, run_cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_reads_and_writes_and_no_more),
		cmocka_unit_test(run_may_use_only_needed_system_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
