/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/served.h"
#include "base/wire.h"
#include "parse/spawner.h"
#include "parse/stopped.h"

#define DEATHS_BURST 16u /* of one trust, before its files wait */
#define DEATH_NS     1000000000ull
#define NR_BLAMED    64u /* trusts remembered; the one longest unblamed makes room */
#define ANSWER_S     10	 /* an answer of the spawner takes 1 ms */
#define SPAWNERS_MAX 8u	 /* in a run: each but the first replaces one ended from outside */

/* Deaths of one trust: a bucket that leaks one in DEATH_NS. */
struct blame {
	struct trust trust;
	uint64_t level_ns; /* deaths * DEATH_NS, as of last_ns */
	uint64_t last_ns;  /* 0: free */
};

struct parser {
	enum parser_image image;
	struct opener *opener; /* owned; NULL: none */
	pthread_mutex_t lock;  /* of all below */
	int control;	       /* owned; -1: no spawner */
	pid_t pid;
	bool greeted;
	bool has_told;	 /* of nr_fds */
	uint32_t nr_fds; /* of each worker */
	unsigned nr_spawners;
	struct blame blamed[NR_BLAMED];
	uint64_t nr_deaths;
};

/* In the child; a copy of this process or a new image of the program. */
__attribute__((__noreturn__)) static void become_spawner(enum parser_image image, int control)
{
	static char *const argv[] = { "fpless", SPAWNER_VERB, NULL };
	static char *const no_environment[] = { NULL };

	if (image == PARSER_FORK)
		spawner_main(control);
	/* before exec, so that capabilities of the file are not given to it */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (control == 0 ? fcntl(0, F_SETFD, 0) == 0 : dup2(control, 0) == 0)
		execve("/proc/self/exe", argv, no_environment);
	_exit(1);
}

static int begin_spawner(struct parser *parser, struct fpl_err *err)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	int socks[2] = { -1, -1 };

	if (parser->nr_spawners >= SPAWNERS_MAX)
		return fpl_fail(err, -EPIPE, "parser: ended %u times from outside", SPAWNERS_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return fpl_fail(err, -errno, "parser: socketpair: %s", strerror(errno));

	pid_t pid = fork();

	if (pid == 0)
		become_spawner(parser->image, socks[1]);

	int code = pid < 0 ? -errno : 0;

	close(socks[1]);
	if (code) {
		close(socks[0]);
		return fpl_fail(err, code, "parser: fork: %s", strerror(-code));
	}
	setsockopt(socks[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	parser->control = socks[0];
	parser->pid = pid;
	parser->greeted = false;
	parser->nr_spawners++;
	return 0;
}

static void end_spawner(struct parser *parser)
{
	if (parser->control < 0)
		return;
	/* its end of the socket reads end of file: it ends its workers and itself */
	close(parser->control);
	parser->control = -1;
	served_await_end(parser->pid);
}

int parser_create(enum parser_image image, struct parser **ret, struct fpl_err *err)
{
	struct parser *parser = calloc(1, sizeof(*parser));

	if (!parser)
		return fpl_fail(err, -ENOMEM, "parser: out of memory");
	pthread_mutex_init(&parser->lock, NULL);
	parser->image = image;
	parser->control = -1;

	int code = image == PARSER_FORK ? 0
					: opener_create(image == PARSER_EXEC, &parser->opener, err);

	if (!code)
		code = begin_spawner(parser, err);
	if (code) {
		parser_destroy(parser);
		return code;
	}
	*ret = parser;
	return 0;
}

void parser_destroy(struct parser *parser)
{
	if (!parser)
		return;
	end_spawner(parser);
	opener_destroy(parser->opener);
	pthread_mutex_destroy(&parser->lock);
	free(parser);
}

struct opener *parser_opener(const struct parser *parser)
{
	return parser ? parser->opener : NULL;
}

/* Waits for a word of the spawner. One that has been stopped, or ended, has none. */
static int await(struct parser *parser)
{
	struct pollfd poll_fd = { .fd = parser->control, .events = POLLIN };
	uint64_t until = clock_monotonic_ns() + ANSWER_S * NS_PER_S;

	/* a child that is stepped interrupts this again and again */
	while (clock_monotonic_ns() < until) {
		int nr = poll(&poll_fd, 1, 1000);

		if (nr > 0)
			return 0;
		if ((nr < 0 && errno != EINTR) || (!nr && process_is_stopped(parser->pid)))
			break;
	}
	return -EPIPE;
}

/* Takes the word a spawner begins with. */
static int greet(struct parser *parser, struct fpl_err *err)
{
	struct spawner_answer hello;

	if (parser->greeted)
		return 0;
	if (await(parser) || wire_recv(parser->control, &hello, sizeof(hello)))
		return fpl_fail(err, -EPIPE, "parser: its process ended at once");
	if (hello.code)
		return fpl_fail(err, hello.code, "parser: cannot give up its rights: %s",
				strerror(-hello.code));
	parser->greeted = true;
	parser->nr_fds = (uint32_t)hello.value;
	return 0;
}

/* One question to the spawner that is there. */
static int ask(struct parser *parser, const struct spawner_request *request, int sock,
	       struct spawner_answer *ret, struct fpl_err *err)
{
	int code = greet(parser, err);

	if (code)
		return code;
	if (wire_send_fds(parser->control, request, sizeof(*request), &sock, sock >= 0) ||
	    await(parser) || wire_recv(parser->control, ret, sizeof(*ret)))
		return fpl_fail(err, -EPIPE, "parser: its process has gone");
	return ret->code ? fpl_fail(err, ret->code, "parser: %s", strerror(-ret->code)) : 0;
}

static struct blame *find_blame(struct parser *parser, const struct trust *trust, bool make)
{
	struct blame *oldest = &parser->blamed[0];

	for (size_t i = 0; i < NR_BLAMED; i++) {
		struct blame *blame = &parser->blamed[i];

		if (blame->last_ns && memcmp(&blame->trust, trust, sizeof(*trust)) == 0)
			return blame;
		if (blame->last_ns < oldest->last_ns)
			oldest = blame;
	}
	if (!make)
		return NULL;
	*oldest = (struct blame){ .trust = *trust };
	return oldest;
}

/* The part that has not leaked out of the bucket. */
static uint64_t level(const struct blame *blame, uint64_t now)
{
	uint64_t leaked = now - blame->last_ns;

	return blame->level_ns > leaked ? blame->level_ns - leaked : 0;
}

void parser_blame(struct parser *parser, const struct trust *trust)
{
	pthread_mutex_lock(&parser->lock);

	struct blame *blame = find_blame(parser, trust, true);
	uint64_t now = clock_monotonic_ns();

	blame->level_ns = level(blame, now) + DEATH_NS;
	blame->last_ns = now;
	parser->nr_deaths++;
	pthread_mutex_unlock(&parser->lock);
}

uint64_t parser_nr_deaths(struct parser *parser)
{
	pthread_mutex_lock(&parser->lock);

	uint64_t nr = parser->nr_deaths;

	pthread_mutex_unlock(&parser->lock);
	return nr;
}

static int hire(struct parser *parser, const struct trust *trust, bool calm, int sock,
		pid_t *ret_pid, struct fpl_err *err)
{
	const struct spawner_request request = { .op = calm ? SPAWNER_HIRE_CALM : SPAWNER_HIRE };
	const struct blame *blame = find_blame(parser, trust, false);
	struct spawner_answer answer;
	int code = parser->control < 0 ? -EPIPE : 0;

	if (blame && level(blame, clock_monotonic_ns()) >= DEATHS_BURST * DEATH_NS)
		return fpl_fail(
			err, -EAGAIN,
			"parser: %u files of user %llu have ended its workers: other files of that user wait",
			DEATHS_BURST, (unsigned long long)trust->uid);
	if (!code)
		code = ask(parser, &request, sock, &answer, err);
	if (code == -EPIPE) { /* it was ended from outside */
		end_spawner(parser);
		code = begin_spawner(parser, err);
		if (!code)
			code = ask(parser, &request, sock, &answer, err);
	}
	if (!code)
		*ret_pid = answer.value;
	return code;
}

int parser_hire(struct parser *parser, const struct trust *trust, bool calm, int *ret_sock,
		pid_t *ret_pid, struct fpl_err *err)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return fpl_fail(err, -errno, "parser: socketpair: %s", strerror(errno));
	pthread_mutex_lock(&parser->lock);

	int code = hire(parser, trust, calm, socks[1], ret_pid, err);

	pthread_mutex_unlock(&parser->lock);
	close(socks[1]);
	if (code)
		close(socks[0]);
	else
		*ret_sock = socks[0];
	return code;
}

void parser_tell_kept(struct parser *parser)
{
	pthread_mutex_lock(&parser->lock);
	if (!parser->has_told && parser->greeted && parser->nr_fds < SANDBOX_FDS)
		fpl_log(FPL_LOG_WARN,
			"parser: no more than %u files may be open (ulimit -n): names come from %u "
			"files at once, not %u, and more slowly",
			parser->nr_fds, spawner_nr_kept(parser->nr_fds),
			spawner_nr_kept(SANDBOX_FDS));
	parser->has_told = true;
	pthread_mutex_unlock(&parser->lock);
}

static int end_worker(struct parser *parser, enum spawner_op op, pid_t pid)
{
	const struct spawner_request request = { .op = op, .pid = pid };
	struct spawner_answer answer;

	pthread_mutex_lock(&parser->lock);

	int code = parser->control < 0 ? -EPIPE : ask(parser, &request, -1, &answer, NULL);

	pthread_mutex_unlock(&parser->lock);
	return code ? -1 : answer.value;
}

int parser_bury(struct parser *parser, pid_t pid)
{
	return end_worker(parser, SPAWNER_BURY, pid);
}

void parser_leave(struct parser *parser, pid_t pid)
{
	end_worker(parser, SPAWNER_LEAVE, pid);
}
