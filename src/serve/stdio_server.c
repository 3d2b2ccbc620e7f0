/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/stdio_server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/asking.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/service.h"
#include "serve/mcp.h"

enum { HTTP_OK = 200 }; /* of asking_has_ended() */

struct stdio_server {
	const struct stdio_server_options *options;
	int signal_fd; /* owned */
	bool is_over;  /* a signal has come, or stdout is closed */
	struct mcp mcp;
	char line[MCP_MESSAGE_MAX + 1]; /* what is read of it, and its end */
	size_t nr;
	bool is_long; /* the rest of the line is left out */
};

/* Wait until @fd is as @events say. Returns false where it is over, or @timeout_ms. */
static bool wait_for(struct stdio_server *server, int fd, short events, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = events },
				{ .fd = server->signal_fd, .events = POLLIN } };
	int nr;

	if (server->is_over)
		return false;
	do
		nr = poll(fds, ARRAY_SIZE(fds), timeout_ms);
	while (nr < 0 && errno == EINTR);
	server->is_over = fds[1].revents != 0;
	return !server->is_over && fds[0].revents;
}

/* Read the answer in the file of memory @fd. */
static void read_answer(int fd, struct mcp_told *ret)
{
	struct stat st;
	ssize_t nr;

	if (fstat(fd, &st) || lseek(fd, 0, SEEK_SET)) {
		snprintf(ret->said, sizeof(ret->said), "%s", strerror(errno));
		return;
	}
	if (st.st_size > MCP_ANSWER_MAX) {
		snprintf(ret->said, sizeof(ret->said),
			 "the answer has more than %u KiB: ask for fewer rows, or a shorter time",
			 MCP_ANSWER_MAX >> 10);
		return;
	}
	ret->json = must_malloc((size_t)st.st_size + 1);
	nr = io_read(fd, ret->json, (size_t)st.st_size);
	ret->size = nr < 0 ? 0 : (size_t)nr;
	/* without the end of its line */
	while (ret->size && ret->json[ret->size - 1] == '\n')
		ret->size--;
	ret->json[ret->size] = '\0';
}

/* mcp.ask */
static void ask(void *ctx, const struct question *question, struct mcp_told *ret)
{
	struct stdio_server *server = ctx;
	CLEANUP(asking_fini) struct asking asking = ASKING_NONE;
	char said[ASKING_SAID_BYTES];
	struct fpl_err err = { 0 };
	unsigned status;

	if (asking_start(server->options->program, question->words, &asking, &err)) {
		snprintf(ret->said, sizeof(ret->said), "%s", err.msg);
		return;
	}
	(void)wait_for(server, asking.end_fd, POLLIN, ASKING_S * 1000);
	if (server->is_over)
		return;
	while (!asking_has_ended(&asking, clock_monotonic_ns(), &status, said))
		(void)wait_for(server, asking.end_fd, POLLIN, 10);
	if (status == HTTP_OK)
		read_answer(asking.answer_fd, ret);
	else
		snprintf(ret->said, sizeof(ret->said), "%s", said);
}

/* Write @text [@size] and the end of its line. The client may stop to read: a signal ends that. */
static int say(struct stdio_server *server, char *text, size_t size, struct fpl_err *err)
{
	text[size++] = '\n';
	while (size && wait_for(server, STDOUT_FILENO, POLLOUT, -1)) {
		/* a pipe that is ready has room for so much */
		ssize_t nr = write(STDOUT_FILENO, text, size < PIPE_BUF ? size : PIPE_BUF);

		if (nr < 0 && errno == EPIPE)
			server->is_over = true;
		else if (nr < 0 && errno != EINTR && errno != EAGAIN)
			return fpl_fail(err, -errno, "stdout: %s", strerror(errno));
		if (nr > 0) {
			text += nr;
			size -= (size_t)nr;
		}
	}
	return 0;
}

/* Answer the line of @size bytes that is read. */
static int take_line(struct stdio_server *server, const char *line, size_t size,
		     struct fpl_err *err)
{
	size_t nr;
	AUTO_FREE char *answer =
		server->is_long ? mcp_refuse_long(&nr) : mcp_take(&server->mcp, line, size, &nr);

	server->is_long = false;
	return answer && !server->is_over ? say(server, answer, nr, err) : 0;
}

/* Answer all lines that are read in full, and keep what is behind them. */
static int take_lines(struct stdio_server *server, struct fpl_err *err)
{
	char *at = server->line, *end = server->line + server->nr, *newline;
	int code = 0;

	while (!code && !server->is_over && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		code = take_line(server, at, (size_t)(newline - at), err);
		at = newline + 1;
	}
	server->nr = (size_t)(end - at);
	memmove(server->line, at, server->nr);
	if (server->nr == sizeof(server->line)) {
		server->is_long = true;
		server->nr = 0;
	} else if (server->is_long) {
		server->nr = 0;
	}
	return code;
}

static int run(struct stdio_server *server, struct fpl_err *err)
{
	int code = 0;

	while (!code && wait_for(server, STDIN_FILENO, POLLIN, -1)) {
		ssize_t nr = read(STDIN_FILENO, server->line + server->nr,
				  sizeof(server->line) - server->nr);

		if (nr < 0 && errno != EINTR && errno != EAGAIN)
			return fpl_fail(err, -errno, "stdin: %s", strerror(errno));
		/* the last line may lack its end */
		if (!nr)
			return server->nr || server->is_long
				       ? take_line(server, server->line, server->nr, err)
				       : 0;
		if (nr > 0) {
			server->nr += (size_t)nr;
			code = take_lines(server, err);
		}
	}
	return code;
}

int stdio_server_run(const struct stdio_server_options *options, struct fpl_err *err)
{
	static struct stdio_server server; /* large, and there is one */
	int code;

	server = (struct stdio_server){
		.options = options,
		.mcp = { .store = options->store, .ask = ask, .ctx = &server },
	};
	code = service_open_end(&server.signal_fd, err);
	if (code)
		return code;
	code = run(&server, err);
	cleanup_fd(&server.signal_fd);
	return code;
}
