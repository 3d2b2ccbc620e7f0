/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/browser.h"
#include "proc/rights.h"

enum { VISITORS_MAX = 16, REQUEST_MAX = 4096, TOKEN_BYTES = 16, ANSWER_S = 10 };

/* A connection whose request is being read. */
struct visitor {
	int fd; /* -1: none */
	size_t size;
	char request[REQUEST_MAX];
};

struct serving {
	int page_fd, listen_fd;
	uint16_t port;
	char token[2 * TOKEN_BYTES + 1];
	struct browser browser;
	bool is_fetched;
	struct visitor visitors[VISITORS_MAX];
};

static int make_token(char token[2 * TOKEN_BYTES + 1])
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int listen_on_loopback(struct serving *serving)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	serving->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (serving->listen_fd < 0 ||
	    bind(serving->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(serving->listen_fd, VISITORS_MAX) < 0 ||
	    getsockname(serving->listen_fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	serving->port = ntohs(address.sin_port);
	return 0;
}

/* The user whose socket on this machine is connected to @fd; -1: unknown. */
static long long uid_of(int fd, uint16_t port)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	FILE *file = fopen("/proc/net/tcp", "re");
	unsigned theirs, ours, uid;
	long long ret = -1;
	char line[512];

	if (!file)
		return -1;
	if (getpeername(fd, (struct sockaddr *)&peer, &size))
		size = 0;
	while (size && ret < 0 && fgets(line, sizeof(line), file)) {
		/* "sl: 0100007F:PORT 0100007F:PORT state queues timer retransmits uid" */
		if (sscanf(line, " %*u: %*x:%x %*x:%x %*x %*x:%*x %*x:%*x %*x %u", &theirs, &ours,
			   &uid) == 3 &&
		    theirs == ntohs(peer.sin_port) && ours == port)
			ret = uid;
	}
	fclose(file);
	return ret;
}

static bool is_welcome(const struct serving *serving, int fd)
{
	long long uid;

	if (!serving->browser.started)
		return true;
	uid = uid_of(fd, serving->port);
	return uid == 0 || uid == (long long)serving->browser.uid;
}

static bool send_text(int fd, const char *text)
{
	size_t size = strlen(text);

	return send(fd, text, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Returns whether all of it was taken. */
static bool send_page(int fd, int page_fd)
{
	struct stat st;
	char head[512];
	off_t at = 0;

	if (fstat(page_fd, &st))
		return false;
	snprintf(
		head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %lld\r\n"
		"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
		"X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
		(long long)st.st_size);
	if (!send_text(fd, head))
		return false;
	while (at < st.st_size)
		if (sendfile(fd, page_fd, &at, (size_t)(st.st_size - at)) <= 0)
			return false;

	/* until it is read: closed at once, the rest may be lost */
	char rest[256];

	shutdown(fd, SHUT_WR);
	while (recv(fd, rest, sizeof(rest), 0) > 0)
		;
	return true;
}

static void leave(struct visitor *visitor)
{
	close(visitor->fd);
	visitor->fd = -1;
}

static bool asks_for_page(const struct serving *serving, const char *request)
{
	char wanted[64];
	int length = snprintf(wanted, sizeof(wanted), "GET /%s HTTP/1.", serving->token);

	return strncmp(request, wanted, (size_t)length) == 0;
}

static void answer(struct serving *serving, struct visitor *visitor)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };

	fcntl(visitor->fd, F_SETFL, 0);
	setsockopt(visitor->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(visitor->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (asks_for_page(serving, visitor->request) && is_welcome(serving, visitor->fd))
		serving->is_fetched = send_page(visitor->fd, serving->page_fd);
	else
		(void)send_text(
			visitor->fd,
			"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	leave(visitor);
}

static void read_request(struct serving *serving, struct visitor *visitor)
{
	size_t room = sizeof(visitor->request) - 1 - visitor->size;
	ssize_t nr = recv(visitor->fd, visitor->request + visitor->size, room, 0);

	if (nr <= 0) {
		if (nr == 0 || errno != EAGAIN)
			leave(visitor);
		return;
	}
	visitor->size += (size_t)nr;
	visitor->request[visitor->size] = '\0';
	if (strstr(visitor->request, "\r\n\r\n"))
		answer(serving, visitor);
	else if (visitor->size == sizeof(visitor->request) - 1)
		leave(visitor);
}

static void receive_visitor(struct serving *serving)
{
	int fd = accept4(serving->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (size_t i = 0; fd >= 0 && i < VISITORS_MAX; i++) {
		if (serving->visitors[i].fd >= 0)
			continue;
		serving->visitors[i].fd = fd;
		serving->visitors[i].size = 0;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void say_address(const struct serving *serving)
{
	fpl_log(FPL_LOG_INFO, "page: http://127.0.0.1:%u/%s for one visit, within %u s",
		serving->port, serving->token, PAGE_SERVER_S);
}

/* Wait for what comes next, until @end_ns. Returns false where that is over. */
static bool serve_once(struct serving *serving, uint64_t end_ns)
{
	struct pollfd fds[VISITORS_MAX + 2];
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns >= end_ns)
		return false;
	for (size_t i = 0; i < VISITORS_MAX; i++)
		fds[i] = (struct pollfd){ .fd = serving->visitors[i].fd, .events = POLLIN };
	fds[VISITORS_MAX] = (struct pollfd){ .fd = serving->listen_fd, .events = POLLIN };
	fds[VISITORS_MAX + 1] = (struct pollfd){ .fd = serving->browser.end_fd, .events = POLLIN };
	if (poll(fds, ARRAY_SIZE(fds), (int)((end_ns - now_ns) / NS_PER_MS) + 1) < 0)
		return errno == EINTR;
	for (size_t i = 0; !serving->is_fetched && i < VISITORS_MAX; i++)
		if (fds[i].revents)
			read_request(serving, &serving->visitors[i]);
	if (fds[VISITORS_MAX].revents)
		receive_visitor(serving);
	if (fds[VISITORS_MAX + 1].revents && browser_has_failed(&serving->browser))
		say_address(serving);
	return true;
}

static void serve(struct serving *serving)
{
	uint64_t end_ns = clock_monotonic_ns() + PAGE_SERVER_S * NS_PER_S;
	char address[64 + sizeof(serving->token)];
	struct fpl_err err;

	snprintf(address, sizeof(address), "http://127.0.0.1:%u/%s", serving->port, serving->token);
	browser_start(&serving->browser, address);
	if (!serving->browser.started)
		say_address(serving);
	if (rights_drop_all(&err))
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
	while (!serving->is_fetched && serve_once(serving, end_ns))
		;
	if (!serving->is_fetched)
		fpl_log(FPL_LOG_WARN, "page: it was not fetched within %u s", PAGE_SERVER_S);
}

/* Runs in the child; keeps no descriptor of the parent but these three. */
_Noreturn static void child_main(int page_fd, int go_fd, int done_fd)
{
	enum { FIRST = STDERR_FILENO + 1, ROOM = 100 };
	const int given[] = { page_fd, go_fd, done_fd };
	static struct serving serving;
	char go;
	int error = 0;

	for (int i = 0; i < (int)ARRAY_SIZE(given); i++)
		if (fcntl(given[i], F_DUPFD_CLOEXEC, ROOM) < 0)
			_exit(1);
	close_range(FIRST, ROOM - 1, 0);
	close_range(ROOM + ARRAY_SIZE(given), ~0u, 0);
	serving.page_fd = ROOM;
	browser_init(&serving.browser);
	if (read(ROOM + 1, &go, 1) != 1)
		_exit(0);
	for (size_t i = 0; i < VISITORS_MAX; i++)
		serving.visitors[i].fd = -1;
	error = make_token(serving.token);
	if (!error)
		error = listen_on_loopback(&serving);
	if (error)
		fpl_log(FPL_LOG_ERROR, "--open: 127.0.0.1: %s", strerror(-error));
	else
		serve(&serving);
	_exit(error ? 1 : 0);
}

int page_server_start(struct page_server *ret, struct fpl_err *err)
{
	int go[2] = { -1, -1 }, done[2] = { -1, -1 }, code = 0;
	int page_fd = memfd_create("page", MFD_CLOEXEC);
	pid_t pid = -1;

	if (page_fd < 0 || pipe2(go, O_CLOEXEC) < 0 || pipe2(done, O_CLOEXEC) < 0)
		code = -errno;
	if (!code)
		pid = fork();
	if (pid == 0) {
		close(go[1]);
		child_main(page_fd, go[0], done[1]);
	}
	if (!code && pid < 0)
		code = -errno;
	cleanup_fd(&go[0]);
	cleanup_fd(&done[1]);
	*ret = (struct page_server){ page_fd, go[1], done[0] };
	if (!code)
		return 0;
	page_server_stop(ret);
	return fpl_fail(err, code, "--open: %s", strerror(-code));
}

void page_server_show(struct page_server *server)
{
	char rest;
	ssize_t nr = write(server->go_fd, "", 1);

	while (nr > 0 || (nr < 0 && errno == EINTR))
		nr = read(server->done_fd, &rest, 1);
	page_server_stop(server);
}

void page_server_stop(struct page_server *server)
{
	cleanup_fd(&server->page_fd);
	cleanup_fd(&server->go_fd);
	cleanup_fd(&server->done_fd);
}
