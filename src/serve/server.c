/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/prometheus.h"
#include "base/service.h"
#include "serve/answer.h"
#include "base/asking.h"

enum {
	TICK_MS = 250, /* between looks at the clock, if there are visitors */
	METRICS_BYTES = 1 << 20,
};

enum visitor_state { NOBODY, READING, ASKING, ASKED, ANSWERED };

/* A connection. */
struct visitor {
	enum visitor_state state;
	struct MHD_Connection *connection;
	uint64_t until_ns; /* it is cut off then, but while it is ASKING */
	char target[QUESTION_TARGET_MAX + 1];
	bool is_long; /* there is more of the target */
	struct question question;
	struct asking asking;
	unsigned status; /* of the answer, and why, once it is ASKED */
	char said[ASKING_SAID_BYTES];
};

enum outcome { OUTCOME_ANSWERED, OUTCOME_REFUSED, OUTCOME_FAILED, OUTCOME_COUNT };

struct server {
	const struct server_options *options;
	struct MHD_Daemon *daemon; /* owned */
	int signal_fd;		   /* owned */
	struct visitor visitors[SERVER_VISITS];
	uint64_t outcomes[OUTCOME_COUNT];
	bool has_left; /* a visitor, in this run */
};

/* Answers that need no question. */
static enum MHD_Result give_page(struct server *server, struct MHD_Connection *connection)
{
	(void)server;
	return answer_page(connection);
}

static enum MHD_Result give_health(struct server *server, struct MHD_Connection *connection)
{
	(void)server;
	return answer_text(connection, "text/plain; charset=utf-8", "ok\n", 3);
}

static enum MHD_Result give_nothing(struct server *server, struct MHD_Connection *connection)
{
	(void)server;
	return answer_nothing(connection);
}

static enum MHD_Result give_login(struct server *server, struct MHD_Connection *connection)
{
	const struct door *door = server->options->door;
	char name[32], cookie[sizeof(name) + DOOR_TOKEN_SIZE];

	door_cookie_name(door, name, sizeof(name));
	snprintf(cookie, sizeof(cookie), "%s=%s", name, door->session);
	return answer_login(connection, door->is_tcp ? cookie : NULL);
}

/* Read the file at @path to @ret [METRICS_BYTES]. Returns its bytes or -errno. */
static ssize_t read_metrics(const char *path, char *ret)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > METRICS_BYTES)
		return -EFBIG;
	return io_read(fd, ret, METRICS_BYTES);
}

/* Does the agent tell its numbers? Else those of the store are asked for. */
static bool has_agent(const struct server *server)
{
	return server->options->metrics && !access(server->options->metrics, F_OK);
}

/* Answer with metrics, @text [@nr], and the server's own behind them. */
static enum MHD_Result answer_metrics(const struct server *server,
				      struct MHD_Connection *connection, const char *text,
				      size_t nr)
{
	static const char *const names[] = { "answered", "refused", "failed" };
	AUTO_FREE char *whole = NULL;
	size_t size;
	FILE *to = must_memstream(&whole, &size);

	fwrite(text, 1, nr, to);
	prometheus_family(to, "serve_requests_total", "counter",
			  "Requests by what became of them.");
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		prometheus_labelled(to, "serve_requests_total", "outcome", names[i],
				    server->outcomes[i]);
	must_memstream_close(to);
	return answer_text(connection, QUESTION_METRICS_TYPE, whole, size);
}

static enum MHD_Result give_metrics(struct server *server, struct MHD_Connection *connection)
{
	const char *path = server->options->metrics;
	AUTO_FREE char *text = must_malloc(METRICS_BYTES);
	ssize_t nr = read_metrics(path, text);

	if (nr < 0) {
		fpl_log(FPL_LOG_WARN, "%s: %s", path, strerror((int)-nr));
		return answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "the file of metrics cannot be read");
	}
	return answer_metrics(server, connection, text, (size_t)nr);
}

/* Those of the store, in the file of memory @fd, which is taken over. */
static enum MHD_Result give_store_metrics(struct server *server, struct MHD_Connection *connection,
					  int fd)
{
	AUTO_FREE char *text = must_malloc(METRICS_BYTES);
	AUTO_FD int owned = fd;
	ssize_t nr = lseek(owned, 0, SEEK_SET) ? -errno : io_read(owned, text, METRICS_BYTES);

	return nr < 0 ? answer_line(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror((int)-nr))
		      : answer_metrics(server, connection, text, (size_t)nr);
}

static const struct given {
	const char *path;
	enum door_need need;
	enum MHD_Result (*give)(struct server *server, struct MHD_Connection *connection);
} givens[] = {
	{ "/", DOOR_NOTHING, give_page },
	{ "/healthz", DOOR_NOTHING, give_health },
	{ "/favicon.ico", DOOR_NOTHING, give_nothing },
	{ "/login", DOOR_LOGIN, give_login },
	{ "/metrics", DOOR_TOKEN, give_metrics },
};

static const struct given *find_given(const char *target)
{
	for (size_t i = 0; i < ARRAY_SIZE(givens); i++)
		if (!strcmp(givens[i].path, target))
			return &givens[i];
	return NULL;
}

/* MHD_KeyValueIterator: headers as they come. */
static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct visit *visit = ctx;

	(void)kind;
	if (!strcasecmp(name, MHD_HTTP_HEADER_HOST)) {
		visit->host = value;
		visit->nr_hosts++;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION)) {
		visit->authorization = value;
		visit->nr_authorizations++;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_ORIGIN)) {
		visit->origin = value ? value : "";
	} else if (!strcasecmp(name, "Sec-Fetch-Site")) {
		visit->site = value ? value : "";
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_COOKIE)) {
		visit->cookie = value;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
		visit->has_body = true;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
		visit->has_body |= !value || strcmp(value, "0") != 0;
	}
	return MHD_YES;
}

static enum MHD_Result refuse(struct server *server, struct visitor *visitor, unsigned status,
			      const char *why)
{
	visitor->state = ANSWERED;
	server->outcomes[OUTCOME_REFUSED]++;
	return answer_line(visitor->connection, status, why);
}

/* Ask fpless query, and let the connection wait for it. */
static enum MHD_Result ask(struct server *server, struct visitor *visitor)
{
	struct question *question = &visitor->question;
	struct fpl_err err = { 0 };
	int code = question_parse(visitor->target, server->options->store, question, &err);

	if (code)
		return refuse(server, visitor,
			      code == -ENOENT ? MHD_HTTP_NOT_FOUND : MHD_HTTP_BAD_REQUEST, err.msg);
	code = asking_start(server->options->program, question->words, &visitor->asking, &err);
	if (code) {
		visitor->state = ANSWERED;
		server->outcomes[OUTCOME_FAILED]++;
		fpl_log(FPL_LOG_WARN, "%s", err.msg);
		return answer_line(visitor->connection, MHD_HTTP_SERVICE_UNAVAILABLE, err.msg);
	}
	visitor->state = ASKING;
	MHD_suspend_connection(visitor->connection);
	return MHD_YES;
}

/* The process that was asked has ended. */
static enum MHD_Result answer(struct server *server, struct visitor *visitor)
{
	int fd = TAKE_FD(visitor->asking.answer_fd);

	visitor->state = ANSWERED;
	asking_fini(&visitor->asking);
	if (visitor->status == MHD_HTTP_OK) {
		server->outcomes[OUTCOME_ANSWERED]++;
		if (!strcmp(visitor->question.type, QUESTION_METRICS_TYPE))
			return give_store_metrics(server, visitor->connection, fd);
		return answer_file(visitor->connection, &visitor->question, fd);
	}
	close(fd);
	if (visitor->status < MHD_HTTP_INTERNAL_SERVER_ERROR)
		return refuse(server, visitor, visitor->status, visitor->said);
	server->outcomes[OUTCOME_FAILED]++;
	fpl_log(FPL_LOG_WARN, "%s: %s", visitor->question.words[1], visitor->said);
	return answer_line(visitor->connection, visitor->status, visitor->said);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **request)
{
	struct server *server = ctx;
	struct visitor *visitor = *request;
	struct visit visit = { .method = method };
	const struct given *given;
	const char *why;
	unsigned status;

	(void)url;
	(void)version;
	(void)body;
	*body_size = 0;
	if (!visitor)
		return MHD_NO;
	if (visitor->state == ASKED)
		return answer(server, visitor);
	if (visitor->state != READING)
		return MHD_NO;
	visitor->until_ns = clock_monotonic_ns() + SERVER_ANSWER_S * NS_PER_S;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &visit);
	given = find_given(visitor->target);
	status = door_judge(server->options->door, &visit, given ? given->need : DOOR_TOKEN, &why);
	if (status)
		return refuse(server, visitor, status, why);
	if (visitor->is_long)
		return refuse(server, visitor, MHD_HTTP_URI_TOO_LONG, "the address is too long");
	if (!given || (given->give == give_metrics && !has_agent(server)))
		return ask(server, visitor);
	visitor->state = ANSWERED;
	server->outcomes[OUTCOME_ANSWERED]++;
	return given->give(server, connection);
}

/* The target as it is in the request; what is returned is *request of the handler. */
static void *take_target(void *ctx, const char *target, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct visitor *visitor = info ? info->socket_context : NULL;

	(void)ctx;
	/* a second request on a connection is not looked at */
	if (!visitor || visitor->state != READING)
		return NULL;
	visitor->is_long = strlen(target) >= sizeof(visitor->target);
	snprintf(visitor->target, sizeof(visitor->target), "%s", target);
	return visitor;
}

static void come_or_go(void *ctx, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode what)
{
	struct server *server = ctx;
	struct visitor *visitor = *context;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		*context = NULL;
		server->has_left = true;
		if (visitor) {
			asking_fini(&visitor->asking);
			visitor->state = NOBODY;
		}
		return;
	}
	for (size_t i = 0; i < SERVER_VISITS; i++) {
		visitor = &server->visitors[i];
		if (visitor->state != NOBODY)
			continue;
		visitor->state = READING;
		visitor->connection = connection;
		visitor->until_ns = clock_monotonic_ns() + SERVER_REQUEST_S * NS_PER_S;
		visitor->asking = ASKING_NONE;
		*context = visitor;
		return;
	}
}

static void cut_off(const struct visitor *visitor)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(visitor->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}

/* Answers that have come are given, and visitors who take too long are cut off. */
static void look_after(struct server *server)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < SERVER_VISITS; i++) {
		struct visitor *visitor = &server->visitors[i];

		if (visitor->state == ASKING &&
		    asking_has_ended(&visitor->asking, now_ns, &visitor->status, visitor->said)) {
			visitor->state = ASKED;
			visitor->until_ns = now_ns + SERVER_ANSWER_S * NS_PER_S;
			MHD_resume_connection(visitor->connection);
		} else if (visitor->state != NOBODY && visitor->state != ASKING &&
			   now_ns >= visitor->until_ns) {
			cut_off(visitor);
		}
	}
}

/* Wait for what comes next. Returns false where a signal says that it is over. */
static bool wait_for_more(const struct server *server, int epoll_fd)
{
	struct pollfd fds[2 + SERVER_VISITS] = { { .fd = epoll_fd, .events = POLLIN },
						 { .fd = server->signal_fd, .events = POLLIN } };
	MHD_UNSIGNED_LONG_LONG wanted;
	int timeout = -1;

	for (size_t i = 0; i < SERVER_VISITS; i++) {
		const struct visitor *visitor = &server->visitors[i];

		if (visitor->state != NOBODY)
			timeout = TICK_MS;
		fds[2 + i] =
			(struct pollfd){ .fd = visitor->state == ASKING ? visitor->asking.end_fd
									: -1,
					 .events = POLLIN };
	}
	if (MHD_get_timeout(server->daemon, &wanted) == MHD_YES &&
	    (timeout < 0 || wanted < (unsigned)timeout))
		timeout = (int)wanted;
	return poll(fds, ARRAY_SIZE(fds), timeout) < 0 ? errno == EINTR : !fds[1].revents;
}

static int start(struct server *server, struct fpl_err *err)
{
	int code = service_open_end(&server->signal_fd, err);

	if (code)
		return code;
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
		MHD_OPTION_LISTEN_SOCKET, server->options->door->fd, MHD_OPTION_CONNECTION_LIMIT,
		SERVER_VISITS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_REQUEST_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, SERVER_REQUEST_S, MHD_OPTION_NOTIFY_CONNECTION,
		come_or_go, server, MHD_OPTION_URI_LOG_CALLBACK, take_target, server,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	return server->daemon ? 0 : fpl_fail(err, -EIO, "libmicrohttpd cannot serve here");
}

/* Questions are ended, and their connections not left waiting, which MHD takes as a mistake. */
static void stop(struct server *server)
{
	for (size_t i = 0; i < SERVER_VISITS; i++) {
		struct visitor *visitor = &server->visitors[i];

		if (visitor->state != ASKING)
			continue;
		asking_fini(&visitor->asking);
		visitor->state = ANSWERED;
		MHD_resume_connection(visitor->connection);
	}
	MHD_stop_daemon(server->daemon);
	cleanup_fd(&server->signal_fd);
}

int server_run(const struct server_options *options, void (*ready)(void *ctx), void *ctx,
	       struct fpl_err *err)
{
	static struct server server; /* large, and there is one */
	int code, epoll_fd;

	server = (struct server){ .options = options, .signal_fd = -1 };
	code = start(&server, err);
	if (code)
		return code;
	epoll_fd = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	ready(ctx);
	while (wait_for_more(&server, epoll_fd)) {
		look_after(&server);
		/* a place that becomes free is given to the next one by the next run only */
		do {
			server.has_left = false;
			MHD_run(server.daemon);
		} while (server.has_left);
	}
	stop(&server);
	return 0;
}
