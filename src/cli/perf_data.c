/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/perf_data.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "parse/sandbox.h"

#define PERF	   "perf"
#define NOBODY_UID 65534u

enum {
	COPY_BYTES = 256 << 10,
	TEXT_PIPE_BYTES = 1 << 20,
};

/* The first bytes of a file; of one that was written to a pipe size is that of the whole header. */
struct beginning {
	char magic[8];
	uint64_t size;
};

#define PIPE_HEADER_SIZE 16u

/* How perf has ended. */
struct perf_end {
	int32_t status; /* of waitpid(2) */
	int32_t error; /* negative errno of execve(2) or what comes before it; 0: it was executed */
	bool late;     /* it was killed for that */
};

/* Read what @fd begins with, without taking it. Returns the number of bytes. */
static ssize_t peek(int fd, void *buf, size_t size)
{
	AUTO_FD int from = -1, to = -1;
	int ends[2];
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t nr;

	if (at >= 0)
		return pread(fd, buf, size, at);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	nr = tee(fd, to, size, 0);
	return nr > 0 ? read(from, buf, (size_t)nr) : nr;
}

static bool is_perf_data(const struct beginning *beginning)
{
	return !memcmp(beginning->magic, "PERFILE2", sizeof(beginning->magic));
}

bool perf_data_is(int fd)
{
	struct beginning beginning;

	return peek(fd, &beginning, sizeof(beginning)) == sizeof(beginning) &&
	       is_perf_data(&beginning);
}

/* Can the user that perf runs as open the file again? */
static bool can_reopen(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (geteuid() || st.st_mode & S_IROTH);
}

/* The file, or all that comes from a pipe, in memory. */
static int copy(const char *name, int fd, int *ret, struct fpl_err *err)
{
	AUTO_FREE char *buf = must_malloc(COPY_BYTES);
	AUTO_FD int to = memfd_create("perf.data", MFD_CLOEXEC);
	uint64_t total = 0;
	ssize_t nr = 0;
	int error = to < 0 ? -errno : 0;

	while (!error && (nr = io_read(fd, buf, COPY_BYTES)) > 0) {
		total += (uint64_t)nr;
		error = total > PERF_DATA_BYTES ? -EFBIG : io_write(to, buf, (size_t)nr);
	}
	if (!error && nr < 0)
		error = (int)nr;
	if (error == -EFBIG)
		return fpl_fail(
			err, error,
			"%s: a perf.data of more than 1 GiB: perf script -i %s | fpless report -",
			name, name);
	if (error)
		return fpl_fail(err, error, "%s: %s", name, strerror(-error));
	*ret = TAKE_FD(to);
	return 0;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* The user stays the same where this process is not root, or its user namespace has no such user.
 */
static void become_nobody(void)
{
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (geteuid() || setgroups(0, NULL) < 0)
		return;
	if (!setresgid(NOBODY_UID, NOBODY_UID, NOBODY_UID))
		(void)!setresuid(NOBODY_UID, NOBODY_UID, NOBODY_UID);
}

/* Without it the kernel hides the addresses of its functions. */
static int keep_syslog_alone(void)
{
	static const cap_value_t wanted[] = { CAP_SYSLOG };
	cap_t before = cap_get_proc(), caps = cap_init();
	cap_flag_value_t has = CAP_CLEAR;
	int error = before && caps ? 0 : -ENOMEM;

	if (!error)
		cap_get_flag(before, CAP_SYSLOG, CAP_PERMITTED, &has);
	for (cap_flag_t set = CAP_EFFECTIVE; !error && has && set <= CAP_INHERITABLE; set++)
		error = cap_set_flag(caps, set, 1, wanted, CAP_SET) ? -errno : 0;
	if (!error && cap_set_proc(caps))
		error = -errno;
	if (!error && has)
		(void)!cap_set_ambient(CAP_SYSLOG, CAP_SET);
	cap_free(before);
	cap_free(caps);
	return error;
}

static void set_environment(void)
{
	static const char *const names[] = { "PATH", "HOME" };
	char *kept[ARRAY_SIZE(names)];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		kept[i] = getenv(names[i]);
	clearenv();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (kept[i])
			setenv(names[i], kept[i], 1);
	setenv("LC_ALL", "C", 1);
	setenv("DEBUGINFOD_URLS", "", 1);
	setenv("PERF_CONFIG", "/dev/null", 1);
}

static void reset_signals(void)
{
	sigset_t none;

	/* a write beyond the limit fails */
	const struct sigaction ignored = { .sa_handler = SIG_IGN },
			       usual = { .sa_handler = SIG_DFL };

	for (int number = 1; number < SIGRTMIN; number++)
		sigaction(number, number == SIGXFSZ ? &ignored : &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Does not return. The descriptors are those of a program: the file, its text, its errors. */
_Noreturn static void run_perf(bool is_stream, int failure_fd)
{
	struct fpl_err refused = { 0 };
	/* a pipe has no place in it that perf could go back to */
	const char *input = is_stream ? "-" : "/proc/self/fd/0";
	int error;

	setsid();
	become_nobody();
	error = keep_syslog_alone();
	/* only now: a change of the user ends this */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!error)
		error = sandbox_enter_program(size_of(STDIN_FILENO), &refused);
	set_environment();
	reset_signals();
	if (!error && !chdir("/"))
		execlp(PERF, PERF, "script", "--ns", "-F", "+pid", "-f", "-i", input, NULL);
	error = error ? error : -errno;
	(void)!write(failure_fd, &error, sizeof(error));
	_exit(127);
}

/* As fork(2), into namespaces of its own where that is allowed. */
static pid_t fork_apart(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD,
				   NULL, NULL, NULL, NULL);

	return pid < 0 ? fork() : pid;
}

enum { KEEPER_FD = STDERR_FILENO + 1 };

/* Wait for the end of @pid for @seconds, or until the other end of KEEPER_FD says something or
 * ends.
 */
static void wait_for_end(pid_t pid, unsigned seconds, struct perf_end *ret)
{
	struct pollfd fds[] = {
		{ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
		{ .fd = KEEPER_FD, .events = POLLIN },
	};

	ret->late = !poll(fds, ARRAY_SIZE(fds), (int)seconds * 1000);
	if (!fds[0].revents)
		kill(pid, SIGKILL);
	waitpid(pid, &ret->status, 0);
	/* what it has started and left, where it had no namespace of its own */
	kill(-pid, SIGKILL);
}

/* Does not return. The keeper has the descriptors of the program, and KEEPER_FD. */
_Noreturn static void keep(bool is_stream, unsigned seconds)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	struct perf_end end = { 0 };
	int failure[2];
	sigset_t all;
	pid_t pid;
	char go;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigaction(SIGCHLD, &usual, NULL);
	if (recv(KEEPER_FD, &go, sizeof(go), 0) != sizeof(go) || pipe2(failure, O_CLOEXEC) < 0)
		_exit(0);
	pid = fork_apart();
	if (pid == 0)
		run_perf(is_stream, failure[1]);
	end.error = pid < 0 ? -errno : 0;
	close(failure[1]);
	close(STDOUT_FILENO);
	if (pid > 0)
		wait_for_end(pid, seconds, &end);
	if (read(failure[0], &end.error, sizeof(end.error)) < 0)
		end.error = -errno;
	send(KEEPER_FD, &end, sizeof(end), MSG_NOSIGNAL);
	_exit(0);
}

/* @given: its descriptors, to stand where keep() has them. */
_Noreturn static void become_keeper(const int given[KEEPER_FD + 1], bool is_stream,
				    unsigned seconds)
{
	int high[KEEPER_FD + 1];

	/* out of the way of each other, first */
	for (int i = 0; i <= KEEPER_FD; i++)
		high[i] = fcntl(given[i], F_DUPFD_CLOEXEC, KEEPER_FD + 1);
	for (int i = 0; i <= KEEPER_FD; i++)
		if (dup3(high[i], i, i == KEEPER_FD ? O_CLOEXEC : 0) < 0)
			_exit(1);
	close_range(KEEPER_FD + 1, ~0u, 0);
	keep(is_stream, seconds);
}

static int start_keeper(int file_fd, bool is_stream, unsigned seconds, struct perf_data *ret)
{
	int text[2], sockets[2];

	ret->error_fd = memfd_create("perf", MFD_CLOEXEC);
	if (ret->error_fd < 0 || pipe2(text, O_CLOEXEC) < 0)
		return -errno;
	ret->text_fd = text[0];
	(void)!fcntl(text[0], F_SETPIPE_SZ, TEXT_PIPE_BYTES);

	AUTO_FD int text_to = text[1];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	ret->keeper_fd = sockets[0];

	AUTO_FD int keeper_end = sockets[1];
	const int given[KEEPER_FD + 1] = { file_fd, text_to, ret->error_fd, keeper_end };
	pid_t pid = fork();

	if (pid == 0)
		become_keeper(given, is_stream, seconds);
	return pid < 0 ? -errno : 0;
}

int perf_data_open(const char *name, int fd, unsigned seconds, struct perf_data *ret,
		   struct fpl_err *err)
{
	AUTO_FD int copied = -1;
	struct beginning beginning = { .size = 0 };
	bool is_stream;
	int error = 0;

	*ret = PERF_DATA_NONE;
	if (!program_is_found(PERF))
		return fpl_fail(
			err, -ENOENT,
			"%s: a perf.data, which perf script reads: perf is not installed: sudo apt-get install linux-perf",
			name);
	is_stream = peek(fd, &beginning, sizeof(beginning)) == sizeof(beginning) &&
		    beginning.size == PIPE_HEADER_SIZE;
	if (!is_stream && !can_reopen(fd))
		error = copy(name, fd, &copied, err);
	if (error)
		return error;
	error = start_keeper(copied < 0 ? fd : copied, is_stream, seconds, ret);
	return error ? fpl_fail(err, error, "%s: perf script: %s", name, strerror(-error)) : 0;
}

void perf_data_begin(struct perf_data *data)
{
	(void)!send(data->keeper_fd, "", 1, MSG_NOSIGNAL);
}

/* The first line that perf says of its own, or "". */
static void first_words(const struct perf_data *data, char *ret, size_t size)
{
	char text[4096], *line, *rest = text;
	ssize_t nr = pread(data->error_fd, text, sizeof(text) - 1, 0);

	*ret = '\0';
	text[nr > 0 ? nr : 0] = '\0';
	while ((line = strsep(&rest, "\n")) && !*ret)
		text_escape(ret, size, line, "");
}

/* Describe a failure of the run. False: it did not fail. */
static bool describe(const struct perf_data *data, const struct perf_end *end, char *ret,
		     size_t size)
{
	char words[512];

	first_words(data, words, sizeof(words));
	if (end->error)
		snprintf(ret, size, "%s", strerror(-end->error));
	else if (end->late)
		snprintf(
			ret, size,
			"it took too long and was ended: perf script -i FILE | fpless report - has no limit");
	else if (WIFSIGNALED(end->status))
		snprintf(ret, size, "ended by signal %d%s%s", WTERMSIG(end->status),
			 *words ? ": " : "", words);
	else if (WIFEXITED(end->status) && WEXITSTATUS(end->status))
		snprintf(ret, size, "%s", *words ? words : "it failed without a word");
	else
		return false;
	return true;
}

/* Was all read, and can no more come? */
static bool is_at_end(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };

	return poll(&end, 1, 0) == 1 && !(end.revents & POLLIN);
}

int perf_data_end(struct perf_data *data, const char *name, bool has_samples, int error,
		  struct fpl_err *err)
{
	bool at_end = is_at_end(data->text_fd);
	struct perf_end end = { .error = 0 };
	char what[640];

	if (!at_end)
		(void)!send(data->keeper_fd, "", 1, MSG_NOSIGNAL);
	if (recv(data->keeper_fd, &end, sizeof(end), 0) != sizeof(end))
		end.error = -ECHILD;
	if (!at_end || !describe(data, &end, what, sizeof(what)))
		return error;
	if (error || !has_samples)
		return fpl_fail(err, -EBADMSG, "%s: perf script: %s", name, what);
	fpl_log(FPL_LOG_WARN, "%s: perf script: %s: what it printed before is read", name, what);
	return 0;
}

void perf_data_fini(struct perf_data *data)
{
	cleanup_fd(&data->text_fd);
	cleanup_fd(&data->keeper_fd);
	cleanup_fd(&data->error_fd);
	*data = PERF_DATA_NONE;
}
