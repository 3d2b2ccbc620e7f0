/* SPDX-License-Identifier: Apache-2.0 */
#include "base/asking.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/memory_limit.h"
#include "base/text.h"

/* Exit codes of fpless query: enum cli_exit. */
enum { EXIT_OK = 0, EXIT_USAGE = 1, EXIT_NO_SAMPLES = 3 };

enum { WORDS_MAX = 32 };

static void limit(__rlimit_resource_t what, rlim_t most)
{
	const struct rlimit both = { most, most };

	if (setrlimit(what, &both))
		_exit(127);
}

/* In the child: everything but what it is to have is gone. */
_Noreturn static void run(const char *program, char *const *words, int answer_fd, int said_fd)
{
	static char zone[256] = "TZ=", utf8[] = "LC_ALL=C.UTF-8";
	char *environment[] = { utf8, NULL, NULL };
	char *argv[WORDS_MAX + 2] = { (char *)program };
	const char *tz = getenv("TZ");
	sigset_t none;
	size_t nr = 0;
	int null;

	/* times of questions are those of the machine */
	if (tz && strlen(tz) < sizeof(zone) - 4) {
		snprintf(zone, sizeof(zone), "TZ=%s", tz);
		environment[1] = zone;
	}
	for (; nr < WORDS_MAX && words[nr]; nr++)
		argv[1 + nr] = words[nr];
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit(RLIMIT_CPU, ASKING_CPU_S);
	limit(RLIMIT_FSIZE, ASKING_ANSWER_BYTES);
	limit(RLIMIT_CORE, 0);
	memory_limit_set(ASKING_MEMORY);
	null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(answer_fd, STDOUT_FILENO) < 0 ||
	    dup2(said_fd, STDERR_FILENO) < 0)
		_exit(127);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	execve(program, argv, environment);
	_exit(127);
}

int asking_start(const char *program, char *const *words, struct asking *ret, struct fpl_err *err)
{
	*ret = ASKING_NONE;
	ret->answer_fd = memfd_create("answer", MFD_CLOEXEC);
	ret->said_fd = memfd_create("said", MFD_CLOEXEC);
	if (ret->answer_fd >= 0 && ret->said_fd >= 0)
		ret->pid = fork();
	else
		ret->pid = -1;
	if (!ret->pid)
		run(program, words, ret->answer_fd, ret->said_fd);
	if (ret->pid > 0)
		ret->end_fd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	ret->deadline_ns = clock_monotonic_ns() + ASKING_S * NS_PER_S;
	if (ret->end_fd >= 0)
		return 0;
	(void)fpl_fail(err, -errno, "a question cannot be asked: %s", strerror(errno));
	asking_fini(ret);
	return err->code;
}

/* The first line that was said, without the name of the program. */
static void take_said(const struct asking *asking, char ret[ASKING_SAID_BYTES])
{
	static const char name[] = "fpless";
	char text[ASKING_SAID_BYTES] = { 0 };
	const char *said = text, *colon;

	if (lseek(asking->said_fd, 0, SEEK_SET) ||
	    io_read(asking->said_fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	colon = strstr(text, ": ");
	if (!strncmp(text, name, sizeof(name) - 1) && colon)
		said = colon + 2;
	text_escape(ret, ASKING_SAID_BYTES, said, "");
}

static unsigned status_of(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGXFSZ				    ? 413
		       : WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU ? 503
										    : 500;
	switch (WEXITSTATUS(status)) {
	case EXIT_OK:
		return 200;
	case EXIT_USAGE:
		return 400;
	case EXIT_NO_SAMPLES:
		return 404;
	default:
		return 500;
	}
}

bool asking_has_ended(struct asking *asking, uint64_t now_ns, unsigned *ret_status,
		      char said[ASKING_SAID_BYTES])
{
	int status = 0;
	pid_t ended = waitpid(asking->pid, &status, WNOHANG);

	if (!ended && now_ns < asking->deadline_ns)
		return false;
	if (!ended) {
		kill(asking->pid, SIGKILL);
		ended = waitpid(asking->pid, &status, 0);
	}
	asking->pid = 0;
	*ret_status = ended > 0 ? status_of(status) : 500;
	take_said(asking, said);
	if (*ret_status == 413)
		snprintf(said, ASKING_SAID_BYTES,
			 "the answer has more than %u MiB: ask for a shorter time",
			 ASKING_ANSWER_BYTES >> 20);
	else if (*ret_status == 503)
		snprintf(said, ASKING_SAID_BYTES,
			 "the answer takes more than %u s of CPU or %u s: ask for a shorter time",
			 ASKING_CPU_S, ASKING_S);
	return true;
}

void asking_fini(struct asking *asking)
{
	if (asking->pid > 0) {
		kill(asking->pid, SIGKILL);
		waitpid(asking->pid, NULL, 0);
	}
	cleanup_fd(&asking->end_fd);
	cleanup_fd(&asking->answer_fd);
	cleanup_fd(&asking->said_fd);
	*asking = ASKING_NONE;
}
