/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "obj/file_stat.h"
#include "parse/client_state.h"
#include "parse/name_key.h"
#include "parse/sandbox.h"
#include "parse/stopped.h"
#include "base/wire.h"

#define TRIES	   3 /* of a request whose worker is killed from outside */
#define PAUSE_MS   10
#define STOPPED_NS NS_PER_S			  /* a worker may be stopped for this long */
#define WORKER_NS  (SANDBOX_CPU_S * NS_PER_S / 2) /* CPU time after which a worker is relieved */

/* Limits of a request: CPU time of the worker; by the clock, should it have been stopped.
 */
static const struct {
	uint64_t cpu_ns, clock_ns;
} limits[PARSE_OP_COUNT] = {
	[PARSE_FACTS] = { 2 * NS_PER_S, 10 * NS_PER_S },
	[PARSE_MATCH] = { 2 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_TABLE] = { 5 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_NAMES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_FRAMES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_LINES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_PERF_MAP] = { 5 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_JITDUMP] = { 5 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_EXAMINE] = { 20 * NS_PER_S, 120 * NS_PER_S },
	[PARSE_NAMES_DIGEST] = { 2 * NS_PER_S, 10 * NS_PER_S },
	[PARSE_CRC] = { 2 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_LISTING] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_FUNCTION] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_PROBES] = { 2 * NS_PER_S, 10 * NS_PER_S },
	[PARSE_SCRIPT] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_JVM] = { NS_PER_S, 10 * NS_PER_S },
	[PARSE_JVM_CODE] = { NS_PER_S, 10 * NS_PER_S },
	[PARSE_MADE] = { NS_PER_S, 10 * NS_PER_S },
};

/* CPU time of the worker; 0 once it has gone. */
static uint64_t worker_cpu_ns(const struct parse_client *client)
{
	return client->has_clock ? clock_ns(client->cpu_clock) : 0;
}

uint64_t client_spent_ns(const struct parse_client *client)
{
	uint64_t now_ns = client->sock >= 0 ? worker_cpu_ns(client) : 0;

	return now_ns >= client->began_cpu_ns && now_ns ? now_ns - client->began_cpu_ns
							: limits[client->op].cpu_ns;
}

int client_open(struct parser *parser, struct parse_client **ret, struct fpl_err *err)
{
	struct parse_client *client = calloc(1, sizeof(*client));

	if (!client)
		return fpl_fail(err, -ENOMEM, "parser: out of memory");
	client->parser = parser;
	client->sock = -1;
	client->level = FPL_LOG_WARN;
	*ret = client;
	return 0;
}

/* Lets the worker go. Returns how it ended, as wait(2) says it. */
static int dismiss(struct parse_client *client)
{
	if (client->sock < 0)
		return -1;
	close(client->sock);
	client->sock = -1;
	return parser_bury(client->parser, client->pid);
}

void client_close(struct parse_client *client)
{
	if (!client)
		return;
	client_close(client->checker);
	dismiss(client);
	free(client);
}

struct opener *client_opener(const struct parse_client *client)
{
	return parser_opener(client->parser);
}

void client_on_pause(struct parse_client *client, client_pause_fn pause, void *ctx)
{
	client->pause = pause;
	client->ctx = ctx;
}

void client_calm(struct parse_client *client)
{
	client->calm = true;
}

void client_cancel(struct parse_client *client)
{
	client->cancelled = true;
}

void client_hush(struct parse_client *client)
{
	client->level = FPL_LOG_DEBUG;
}

void client_mangled(struct parse_client *client)
{
	client->mangled = true;
}

void client_keep(struct parse_client *client)
{
	client->keeps = true;
}

int client_file_init(struct client_file *file, int fd, const char *path)
{
	struct stat st;
	int code = file_stat(fd, &st, NULL);

	*file = (struct client_file){ .fd = fd, .path = path, .debug_fd = -1, .alt_fd = -1 };
	if (code)
		return code;
	file->size = (uint64_t)st.st_size;
	file->trust = trust_of(&st);
	return 0;
}

/* The worker is of no use any more, and that is the file's fault: @what it did. */
static int lose(struct parse_client *client, const char *what)
{
	parser_blame(client->parser, &client->file->trust);
	dismiss(client);
	return fpl_fail(client->err, -EOWNERDEAD, "%s: %s", client->file->path, what);
}

/*
 * The worker closed its socket: it has ended. A crash is blamed on the file. SIGKILL is not: the
 * OOM killer or an operator may have sent it.
 */
static int lose_dead(struct parse_client *client)
{
	int status = dismiss(client);

	client->was_killed = status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!client->was_killed)
		parser_blame(client->parser, &client->file->trust);
	if (status != -1 && WIFSIGNALED(status))
		return fpl_fail(client->err, -EOWNERDEAD,
				"%s: the process that read it was killed by signal %d (%s)",
				client->file->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return fpl_fail(client->err, -EOWNERDEAD, "%s: the process that read it has ended",
			client->file->path);
}

/* The worker was stopped: it could wait for ever. */
static int lose_stopped(struct parse_client *client)
{
	dismiss(client);
	client->was_killed = true;
	return fpl_fail(client->err, -EOWNERDEAD, "%s: the process that read it was stopped",
			client->file->path);
}

/* The answer is no longer wanted. */
static int give_up(struct parse_client *client)
{
	dismiss(client);
	return fpl_fail(client->err, -ECANCELED, "%s: given up", client->file->path);
}

/* One that waits for a CPU is left in peace; one that was stopped is not waited for. */
static bool is_stopped_for_long(struct parse_client *client, uint64_t now)
{
	if (now < client->ran_ns + STOPPED_NS)
		return false;
	if (process_is_stopped(client->pid))
		return true;
	client->ran_ns = now;
	return false;
}

/* Its file system does not answer the worker, which may never end and is left behind. */
static int lose_silent(struct parse_client *client)
{
	opener_waited(parser_opener(client->parser), client->remote_dev, client->slept_ns, false);
	close(client->sock);
	client->sock = -1;
	parser_leave(client->parser, client->pid);
	return fpl_fail(client->err, -ETIMEDOUT, "%s: file did not answer", client->file->path);
}

/* Has the worker waited for the file's system for as long as it may? */
static bool is_silent_for_long(struct parse_client *client, uint64_t now)
{
	char state;

	if (!client->is_remote)
		return false;
	state = process_state(client->pid);
	if (state == 'S' || state == 'D')
		client->slept_ns += now - client->looked_ns;
	client->looked_ns = now;
	return client->slept_ns >
	       opener_patience_ns(parser_opener(client->parser), client->remote_dev);
}

/* Waits until the socket is ready for @events. */
static int wait_for(struct parse_client *client, short events)
{
	struct pollfd poll_fd = { .fd = client->sock, .events = events };

	for (;;) {
		int nr = poll(&poll_fd, 1, PAUSE_MS);
		uint64_t now = clock_monotonic_ns();

		if (nr > 0)
			return 0;
		if (client->pause)
			client->pause(client->ctx);
		if (client->cancelled)
			return give_up(client);
		if (worker_cpu_ns(client) > client->began_cpu_ns + limits[client->op].cpu_ns)
			return lose(client, "reading it takes more CPU time than a file may");
		if (is_silent_for_long(client, now))
			return lose_silent(client);
		if (is_stopped_for_long(client, now))
			return lose_stopped(client);
		if (now > client->began_ns + limits[client->op].clock_ns)
			return lose(client, "reading it takes too long");
	}
}

static int send_all(struct parse_client *client, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t n =
			send(client->sock, from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return lose_dead(client);

		int code = wait_for(client, POLLOUT);

		if (code)
			return code;
	}
	return 0;
}

/* answer_read_fn */
static int recv_all(void *ctx, void *bytes, size_t size)
{
	struct parse_client *client = ctx;
	uint8_t *to = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t n = recv(client->sock, to + done, size - done, MSG_DONTWAIT);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return lose_dead(client);

		int code = wait_for(client, POLLIN);

		if (code)
			return code;
	}
	return 0;
}

/* A worker that may read the file: the one at hand unless it read files of another trust. */
static int need_worker(struct parse_client *client)
{
	if (client->sock >= 0 &&
	    (memcmp(&client->trust, &client->file->trust, sizeof(client->trust)) != 0 ||
	     worker_cpu_ns(client) > WORKER_NS))
		dismiss(client);
	if (client->sock >= 0)
		return 0;

	int code = parser_hire(client->parser, &client->file->trust, client->calm, &client->sock,
			       &client->pid, client->err);

	if (code)
		return fpl_fail_in(client->err, code, "%s", client->file->path);
	client->trust = client->file->trust;
	client->has_clock = !clock_getcpuclockid(client->pid, &client->cpu_clock);
	if (client->keeps)
		parser_tell_kept(client->parser);
	return 0;
}

/* The key under which the worker keeps what the question is about; false: it should not. */
static bool find_key(const struct parse_client *client, const struct question *question,
		     struct parse_key *ret)
{
	const struct client_file *file = question->file;
	const int fds[] = { file->fd, file->debug_fd, file->alt_fd };
	struct name_key key;

	_Static_assert(ARRAY_SIZE(fds) == ARRAY_SIZE(ret->bytes), "a digest for each file");
	if (!client->keeps || (question->op != PARSE_NAMES && question->op != PARSE_LINES &&
			       question->op != PARSE_LISTING))
		return false;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0)
			continue;
		if (name_key_read(fds[i], i ? "/" : file->path, client->mangled, &key))
			return false;
		memcpy(ret->bytes[i], key.bytes, sizeof(key.bytes));
	}
	return true;
}

/* The files of a request as they go to the worker; those in envelopes are ours to close. */
struct parcel {
	int fds[WIRE_FDS_MAX];
	bool is_sealed[WIRE_FDS_MAX];
	size_t nr;
	uint32_t flags; /* PARSE_SEALED_* */
};

static void parcel_fini(struct parcel *parcel)
{
	for (size_t i = 0; i < parcel->nr; i++) {
		if (parcel->is_sealed[i])
			close(parcel->fds[i]);
	}
}

/* Adds @fd, if there is one; where it is a place, an envelope with its file and @flag. */
static int pack(struct parse_client *client, int fd, uint32_t flag, struct parcel *parcel)
{
	const struct opener_wait wait = { client->pause, client->ctx };
	struct trust trust;
	int code;

	if (fd < 0)
		return 0;
	if (!opener_holds_place(fd)) {
		parcel->fds[parcel->nr++] = fd;
		return 0;
	}
	code = trust_read(fd, &trust);
	if (!code)
		code = opener_envelope(parser_opener(client->parser), fd, &wait,
				       &parcel->fds[parcel->nr]);
	if (code == -ETIMEDOUT)
		return fpl_fail(client->err, code, "%s: file did not answer", client->file->path);
	if (code)
		return fpl_fail(client->err, code, "%s: %s", client->file->path, strerror(-code));
	parcel->is_sealed[parcel->nr++] = true;
	parcel->flags |= flag;
	if (!client->is_remote)
		client->remote_dev = trust.dev;
	client->is_remote = true;
	return 0;
}

static int send_request(struct parse_client *client, const struct question *question,
			const struct parcel *parcel)
{
	const struct client_file *file = question->file;
	struct parse_request request = {
		.op = question->op,
		.flags = question->flags | (file->debug_fd >= 0 ? PARSE_HAS_DEBUG : 0) |
			 (file->alt_fd >= 0 ? PARSE_HAS_ALT : 0) | parcel->flags,
		.file_size = file->size,
		.debug_size = file->debug_size,
		.alt_size = file->alt_size,
		.name_size = (uint32_t)strnlen(file->path, PARSE_NAME_MAX),
		.nr_vaddrs = (uint32_t)question->nr_vaddrs,
		.code_bytes = question->code_bytes,
		.own_pid = question->own_pid,
		.text_size = question->text ? (uint32_t)strlen(question->text) : 0,
	};

	if (find_key(client, question, &request.key))
		request.flags |= PARSE_KEEP;

	uint8_t bytes[sizeof(request) + PARSE_NAME_MAX];

	memcpy(bytes, &request, sizeof(request));
	memcpy(bytes + sizeof(request), file->path, request.name_size);
	/* nothing is under way: it fits the socket's buffer */
	if (wire_send_fds(client->sock, bytes, sizeof(request) + request.name_size, parcel->fds,
			  parcel->nr))
		return lose_dead(client);

	int code =
		send_all(client, question->vaddrs, question->nr_vaddrs * sizeof(*question->vaddrs));

	return code ? code : send_all(client, question->text, request.text_size);
}

static int read_code(struct answer_reader *reader, const struct question *question,
		     struct fpl_err *err)
{
	struct code_table *table = question->ret;
	size_t max_bytes = table->max_bytes;

	/* what a worker left half-done that was killed before this one was asked */
	code_table_fini(table);
	code_table_init(table, max_bytes);
	return answer_code(reader, table, question->code_result, err);
}

static int read_facts(struct answer_reader *reader, const struct question *question,
		      struct fpl_err *err)
{
	struct answer_facts *facts = question->ret;
	int code = answer_facts(reader, facts, err);

	if (code || !question->table || facts->head.link.is_stripped)
		return code;
	code = answer_head(reader, PARSE_TABLE, err);
	if (!code)
		code = answer_table(reader, question->table, err);
	if (code)
		free(TAKE_PTR(facts->segments));
	return code;
}

/* Reads the answer behind its head. */
static int read_rest(struct answer_reader *reader, const struct question *question,
		     struct fpl_err *err)
{
	switch (question->op) {
	case PARSE_FACTS:
		return read_facts(reader, question, err);
	case PARSE_TABLE:
		return answer_table(reader, question->ret, err);
	case PARSE_NAMES:
		return answer_names(reader, question->vaddrs, question->nr_vaddrs, question->ret,
				    err);
	case PARSE_LINES:
		return answer_lines(reader, question->nr_vaddrs, question->ret, err);
	case PARSE_LISTING:
		return answer_listing(reader, question->vaddrs[0], question->ret, err);
	case PARSE_FUNCTION:
	case PARSE_PROBES:
		return answer_probes(reader, question->ret, err);
	case PARSE_FRAMES:
		return answer_frames(reader, question->nr_vaddrs, question->ret, err);
	case PARSE_PERF_MAP:
	case PARSE_JITDUMP:
	case PARSE_JVM_CODE:
		return read_code(reader, question, err);
	case PARSE_JVM:
		return answer_jvm(reader, question->ret, err);
	case PARSE_MADE:
		return answer_made(reader, question->ret, err);
	case PARSE_SCRIPT:
		return answer_script(reader, question->ret, err);
	case PARSE_EXAMINE:
		return answer_examination(reader, question->ret, err);
	case PARSE_NAMES_DIGEST:
		return reader->read(reader->ctx, question->ret, IDENTITY_DIGEST_SIZE);
	case PARSE_CRC:
		return reader->read(reader->ctx, question->ret, sizeof(uint32_t));
	case PARSE_MATCH: /* the head says it */
	case PARSE_OP_COUNT:
	default:
		return 0;
	}
}

static int ask_once(struct parse_client *client, const struct question *question,
		    struct fpl_err *err)
{
	struct answer_reader reader = { .read = recv_all,
					.ctx = client,
					.path = question->file->path };
	CLEANUP(parcel_fini) struct parcel parcel = { .nr = 0 };

	client->file = question->file;
	client->op = question->op;
	client->err = err;
	client->was_killed = client->cancelled = client->is_remote = false;

	int code = pack(client, question->file->fd, PARSE_SEALED_FILE, &parcel);

	if (!code)
		code = pack(client, question->file->debug_fd, PARSE_SEALED_DEBUG, &parcel);
	if (!code)
		code = pack(client, question->file->alt_fd, PARSE_SEALED_ALT, &parcel);
	if (!code)
		code = need_worker(client);
	if (code)
		return code;
	client->began_cpu_ns = worker_cpu_ns(client);
	client->began_ns = client->ran_ns = client->looked_ns = clock_monotonic_ns();
	client->slept_ns = 0;
	code = send_request(client, question, &parcel);
	if (!code)
		code = answer_head(&reader, question->op, err);
	if (!code)
		code = read_rest(&reader, question, err);
	if (client->is_remote && code != -ETIMEDOUT)
		opener_waited(parser_opener(client->parser), client->remote_dev, client->slept_ns,
			      true);
	/* what made no sense, or was not read to its end, would be taken for the next answer */
	if (code == -EBADMSG && client->sock >= 0)
		return lose(client, err->msg);
	if (code == -ENOMEM)
		dismiss(client);
	return code;
}

int client_ask(struct parse_client *client, const struct question *question, struct fpl_err *err)
{
	struct fpl_err own = { 0 };
	int code = -EOWNERDEAD;

	if (question->nr_vaddrs > PARSE_VADDRS_MAX)
		return fpl_fail(err, -E2BIG, "%s: more than %u addresses", question->file->path,
				PARSE_VADDRS_MAX);
	if (question->text && strlen(question->text) > PARSE_NAME_TEXT_MAX)
		return fpl_fail(err, -E2BIG, "%s: a name of more than %u bytes",
				question->file->path, PARSE_NAME_TEXT_MAX);
	for (int i = 0; i < TRIES && code == -EOWNERDEAD && (i == 0 || client->was_killed); i++)
		code = ask_once(client, question, &own);
	if (code == -EOWNERDEAD && client->was_killed)
		parser_blame(client->parser, &question->file->trust);
	if (code && err)
		*err = own;
	return code;
}
